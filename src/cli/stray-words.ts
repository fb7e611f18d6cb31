import type { Option } from "@commander-js/extra-typings";
import { isShownPath, isShownWord } from "../host/shown-value.ts";
import { UsageError } from "../host/usage.ts";
import { looksLikeDatabase } from "../store/database-file.ts";
import { HoldfastError } from "../store/errors.ts";
import { parseStoreName } from "../store/store-name.ts";
import { isUsedStore } from "../store/used-store.ts";
import { printableLine } from "./printable.ts";
import { shellWord, storeFlag } from "./sessions/next-step.ts";

/** Arguments that are free text: there are several where its quotes were left out. */
const TEXTS = ["text", "title"];
/** A longer text is not shown again, in UTF-16 units. */
const LONGEST_SHOWN = 80;
const BOTH_FLAGS = "--session-db PATH or --session-dir ROOT";

/** What is looked at of a command that was given more words than it takes. */
export interface Overfull {
  /** The words, without flags and their values. */
  readonly args: readonly string[];
  readonly registeredArguments: ReadonlyArray<{ name(): string }>;
  readonly options: readonly Option[];
}

/**
 * More words than a command takes, with what was most likely meant: a text without its quotes, or a store.
 * @param given all of the command line
 * @param hint how the command's help is asked for
 */
export function tooManyWords(command: Overfull, given: readonly string[], hint: string): UsageError {
  const { args, registeredArguments: known, options } = command;
  const takesStore = known.at(-1)?.name() === "store";
  const isStoreGiven = given.some((word) => /^--session-(?:db|dir)\b/.test(word));
  const needsFlag = !takesStore && !isStoreGiven && options.some(({ long }) => long === "--session-db");
  const at = known.findIndex((argument) => TEXTS.includes(argument.name()));
  // Where a command takes a store by its place, most people give it last, and some first.
  const ends = takesStore ? [args.at(-1) ?? "", args[0] ?? ""] : [];
  const store = needsFlag ? args.find(isStoreName) : ends.find(isUsedStore);
  const flag = store !== undefined && needsFlag ? flagFor(store) : undefined;
  const naming = store === undefined || !needsFlag ? undefined : `Name the store with ${flag ?? BOTH_FLAGS}.`;
  const name = known[at]?.name() ?? "";
  const words = at < 0 ? [] : args.filter((word) => word !== store).slice(at);
  if (words.length > 1) {
    const message = `The ${name} must be one argument, and there are ${words.length}`;
    const quotes = `Put quotes around it: ${quoted(words) ?? `'${name.toUpperCase()}'`}`;
    return new UsageError(message, naming === undefined ? quotes : `${naming} ${quotes}`);
  }
  const message = countText(args.length, known.length);
  if (naming !== undefined || !needsFlag || known.length > 0) return new UsageError(message, naming ?? hint);
  const path = args.find((word) => word.includes("/") && isShownPath(word));
  const asStore = path === undefined ? undefined : flagFor(path);
  if (asStore !== undefined) return new UsageError(message, `A store is named with a flag: ${asStore}`);
  const flags = `A store is named with ${BOTH_FLAGS}, a session with --session-id ID.`;
  return new UsageError(message, `${flags} ${hint}`);
}

function countText(found: number, most: number): string {
  const are = found === 1 ? "is 1 argument" : `are ${found} arguments`;
  return `There ${are}, and ${most === 0 ? "none" : `at most ${most}`} can be given`;
}

/** Whether a word can hardly be anything else. */
function isStoreName(word: string): boolean {
  return /^(?:sqlite|jsonl):./.test(word) || looksLikeDatabase(word) || isUsedStore(word);
}

/** Nothing where the word cannot name a store, or is better not shown. */
function flagFor(word: string): string | undefined {
  try {
    const name = parseStoreName(word);
    const flag = storeFlag(name);
    return isShownPath(name.path) && printableLine(flag) === flag ? flag : undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return undefined;
    throw error;
  }
}

/** The words as one argument, as a shell takes it; nothing where that is better not shown. */
function quoted(words: readonly string[]): string | undefined {
  const text = words.join(" ");
  const mayBeShown = words.every((word) => isShownWord(word.replace(/[?!.,:;]+$/, "")));
  return mayBeShown && text.length <= LONGEST_SHOWN && printableLine(text) === text
    ? shellWord(text)
    : undefined;
}
