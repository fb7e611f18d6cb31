import { existsSync } from "node:fs";
import { parseStoreName, type StoreName } from "../store/store-name.ts";
import { withConfigFile } from "./config-file.ts";
import { isFlag, isGiven, type RawOption, type RawOptions, UsageError, withOneOf } from "./usage.ts";

const HINT = "Name one of them, as --session-db PATH or --session-dir ROOT.";

/**
 * The options with at most one of `sessionDb` and `sessionDir`: a flag goes before the variable of the other, and both
 * before a configuration file.
 * @throws UsageError when two of one kind name a store each
 */
export function withOneStore(raw: RawOptions): RawOptions {
  return withOneOf(
    raw,
    [["sessionDb"], ["sessionDir"]],
    (file, folder) => new UsageError(`${file.source} and ${folder.source} each name a store`, HINT),
  );
}

/**
 * The store that a command is to read: named by its argument, or else by a flag, a variable or a configuration file.
 * @throws UsageError
 */
export function chosenStore(raw: RawOptions, argument: string | undefined): StoreName {
  if (argument !== undefined) {
    const flag = [raw["sessionDb"], raw["sessionDir"]].find((option) => isGiven(option) && isFlag(option));
    if (flag === undefined) return parseStoreName(argument);
    throw new UsageError(
      `${flag.source} and ${JSON.stringify(argument)} each name a store`,
      "Name one of them.",
    );
  }
  return namedStore(
    withConfigFile(raw),
    "Name one: as an argument, or as --session-db PATH or --session-dir ROOT.",
  );
}

/**
 * The store and the ids of a command whose arguments are sessions: where no flag, variable or configuration file names
 * the store, the first argument does, or the last one where only that can be a store. @throws UsageError
 */
export function storeAndIds(
  given: RawOptions,
  args: readonly string[],
): { readonly name: StoreName; readonly ids: readonly string[] } {
  const raw = withConfigFile(given);
  if (isGiven(raw["sessionDb"]) || isGiven(raw["sessionDir"]))
    return { name: namedStore(raw, HINT), ids: args };
  const [first, last] = [args[0], args.at(-1)];
  const hint = "Name one: as the first argument, or as --session-db PATH or --session-dir ROOT.";
  if (first === undefined || last === undefined) throw new UsageError("No store is named", hint);
  if (!isStore(first) && isStore(last)) return { name: parseStoreName(last), ids: args.slice(0, -1) };
  const name = parseStoreName(first);
  // Most likely an id, and the store was left out.
  if (/^[^/\\:.]+$/.test(first) && !existsSync(first)) {
    throw new UsageError(`No store is named, and there is none at ${JSON.stringify(first)}`, hint);
  }
  return { name, ids: args.slice(1) };
}

/**
 * As {@link chosenStore}, of a command with one id before the store. They may change places where only the first can be a
 * store. @throws UsageError
 */
export function storeAndId(
  raw: RawOptions,
  id: string,
  argument: string | undefined,
): { readonly name: StoreName; readonly id: string } {
  if (argument === undefined || isStore(argument) || !isStore(id))
    return { name: chosenStore(raw, argument), id };
  return { name: chosenStore(raw, id), id: argument };
}

/** Whether an argument says that it is a store, or something lies there. */
function isStore(argument: string): boolean {
  return /^(sqlite|jsonl):/.test(argument) || existsSync(argument);
}

/** The store that one of the options names. @throws UsageError */
function namedStore(raw: RawOptions, hint: string): StoreName {
  const { sessionDb, sessionDir } = withOneStore(raw);
  if (isGiven(sessionDb)) return { kind: "sqlite", path: path(sessionDb) };
  if (isGiven(sessionDir)) return { kind: "jsonl", path: path(sessionDir) };
  throw new UsageError("No store is named", hint);
}

function path({ value, source }: RawOption): string {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new UsageError(`${source} cannot be ${JSON.stringify(value)}: it must be a path`, HINT);
}
