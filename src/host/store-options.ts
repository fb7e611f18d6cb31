import { existsSync } from "node:fs";
import { parseStoreName, type StoreName } from "../store/store-name.ts";
import { type RawOption, type RawOptions, UsageError } from "./usage.ts";

const HINT = "Name one of them, as --session-db PATH or --session-dir ROOT.";

/**
 * The options with at most one of `sessionDb` and `sessionDir`: a flag goes before the variable of the other, and both
 * before a configuration file.
 * @throws UsageError when two of one kind name a store each
 */
export function withOneStore(raw: RawOptions): RawOptions {
  const { sessionDb, sessionDir, ...rest } = raw;
  if (!isGiven(sessionDb) || !isGiven(sessionDir)) return raw;
  const preference = rank(sessionDb) - rank(sessionDir);
  if (preference === 0) {
    throw new UsageError(`${sessionDb.source} and ${sessionDir.source} each name a store`, HINT);
  }
  return preference > 0 ? { ...rest, sessionDb } : { ...rest, sessionDir };
}

/** The store that a command is to read: named by its argument, or else by a flag or variable. @throws UsageError */
export function chosenStore(raw: RawOptions, argument: string | undefined): StoreName {
  if (argument !== undefined) {
    const flag = [raw["sessionDb"], raw["sessionDir"]].find(
      (option) => isGiven(option) && !isVariable(option),
    );
    if (flag === undefined) return parseStoreName(argument);
    throw new UsageError(
      `${flag.source} and ${JSON.stringify(argument)} each name a store`,
      "Name one of them.",
    );
  }
  return namedStore(raw, "Name one: as an argument, or as --session-db PATH or --session-dir ROOT.");
}

/**
 * The store and the ids of a command whose arguments are sessions: where no flag or variable names the store, the first
 * argument does. @throws UsageError
 */
export function storeAndIds(
  raw: RawOptions,
  args: readonly string[],
): { readonly name: StoreName; readonly ids: readonly string[] } {
  if (isGiven(raw["sessionDb"]) || isGiven(raw["sessionDir"]))
    return { name: namedStore(raw, HINT), ids: args };
  const [first, ...ids] = args;
  const hint =
    "Name one: as the first argument, before the ids, or as --session-db PATH or --session-dir ROOT.";
  if (first === undefined) throw new UsageError("No store is named", hint);
  const name = parseStoreName(first);
  // Most likely an id, and the store was left out.
  if (/^[^/\\:.]+$/.test(first) && !existsSync(first)) {
    throw new UsageError(`No store is named, and there is none at ${JSON.stringify(first)}`, hint);
  }
  return { name, ids };
}

/** The store that a flag or variable names. @throws UsageError */
function namedStore(raw: RawOptions, hint: string): StoreName {
  const { sessionDb, sessionDir } = withOneStore(raw);
  if (isGiven(sessionDb)) return { kind: "sqlite", path: path(sessionDb) };
  if (isGiven(sessionDir)) return { kind: "jsonl", path: path(sessionDir) };
  throw new UsageError("No store is named", hint);
}

/** Whether an option has a value. A variable that is empty counts as none, as it does for most programs. */
export function isGiven(option: RawOption | undefined): option is RawOption {
  return option?.value !== undefined && !(option.value === "" && isVariable(option));
}

/** Flags over variables over files. */
function rank(option: RawOption): number {
  return option.source.startsWith("--") ? 2 : isVariable(option) ? 1 : 0;
}

function isVariable({ source }: RawOption): boolean {
  return source.startsWith("HOLDFAST_");
}

function path({ value, source }: RawOption): string {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new UsageError(`${source} cannot be ${JSON.stringify(value)}: it must be a path`, HINT);
}
