import { existsSync } from "node:fs";
import { parseWholeStoreName, type StoreName, storeOfKind } from "../store/store-name.ts";
import { isUsedStore } from "../store/used-store.ts";
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
    if (flag === undefined) return parseWholeStoreName(argument);
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
 * The store and the ids of a command whose arguments are sessions. Beside a flag that names the store all of them are ids.
 * Else the first one is the store, or the last one, where something is there that it names; that goes before a variable
 * and a configuration file, which count where no argument does. @throws UsageError
 */
export function storeAndIds(
  given: RawOptions,
  args: readonly string[],
): { readonly name: StoreName; readonly ids: readonly string[] } {
  const raw = withConfigFile(given);
  const [first, last] = [args[0], args.at(-1)];
  const named = [raw["sessionDb"], raw["sessionDir"]].filter(isGiven);
  if (named.some(isFlag)) return { name: namedStore(raw, HINT), ids: args };
  if (first !== undefined && isStore(first)) return { name: parseWholeStoreName(first), ids: args.slice(1) };
  if (last !== undefined && isStore(last)) return { name: parseWholeStoreName(last), ids: args.slice(0, -1) };
  if (named.length > 0) return { name: namedStore(raw, HINT), ids: args };
  const hint = "Name one: as the first argument, or as --session-db PATH or --session-dir ROOT.";
  if (first === undefined) throw new UsageError("No store is named", hint);
  const name = parseWholeStoreName(first);
  // Most likely an id, and the store was left out.
  if (/^[^/\\:.]+$/.test(first))
    throw new UsageError(`No store is named, and there is none at ${JSON.stringify(first)}`, hint);
  return { name, ids: args.slice(1) };
}

/**
 * As {@link chosenStore}, of a command with one id before the store. They may change places where only the first can be a
 * store. A single argument is the id.
 * @param instead what else than an id may be given, for messages
 * @throws UsageError
 */
export function storeAndId(
  raw: RawOptions,
  id: string,
  argument: string | undefined,
  instead = "",
): { readonly name: StoreName; readonly id: string } {
  if (argument !== undefined && isStore(id) && !isStore(argument))
    return { name: chosenStore(raw, id), id: argument };
  if (argument === undefined && !isStoreNamed(raw) && isStore(id)) {
    throw new UsageError(
      `No session is named: ${JSON.stringify(id)} is taken for the store`,
      `Name the session before it${instead}.`,
    );
  }
  return { name: chosenStore(raw, argument), id };
}

/**
 * As {@link chosenStore}, of a command with one text before the store.
 * @param what the text is, as in "title"
 * @throws UsageError also where the text is a store, and the store is none or missing
 */
export function storeBehind(
  raw: RawOptions,
  text: string,
  argument: string | undefined,
  what: string,
): StoreName {
  if (argument === undefined) assertNoStore(raw, text, what);
  else if (!isStore(argument) && isUsedStore(text)) {
    throw new UsageError(
      `There is no store at ${JSON.stringify(argument)}, but there is one at ${JSON.stringify(text)}`,
      `The ${what} stands before the store.`,
    );
  }
  return chosenStore(raw, argument);
}

/** @throws UsageError where no store is named, and the text is one: then it is the text that is missing */
export function assertNoStore(raw: RawOptions, text: string, what: string): void {
  if (isStoreNamed(raw) || !isUsedStore(text)) return;
  throw new UsageError(
    `No ${what} is given: ${JSON.stringify(text)} is taken for the store`,
    `Give the ${what} before it.`,
  );
}

function isStoreNamed(raw: RawOptions): boolean {
  return [raw["sessionDb"], raw["sessionDir"], raw["config"]].some(isGiven);
}

/** Whether an argument says that it is a store, or something lies there. */
export function isStore(argument: string): boolean {
  return /^(sqlite|jsonl):/.test(argument) || existsSync(argument);
}

/** The store that one of the options names. @throws UsageError */
function namedStore(raw: RawOptions, hint: string): StoreName {
  const { sessionDb, sessionDir } = withOneStore(raw);
  if (isGiven(sessionDb)) return storeOfKind("sqlite", path(sessionDb));
  if (isGiven(sessionDir)) return storeOfKind("jsonl", path(sessionDir));
  throw new UsageError("No store is named", hint);
}

function path({ value, source }: RawOption): string {
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new UsageError(`${source} cannot be ${JSON.stringify(value)}: it must be a path`, HINT);
}
