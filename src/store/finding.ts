import type { Place } from "../session/errors.ts";
import type { CorruptError } from "./errors.ts";

/*
 * What a check of a store finds. A finding never stops the check: it says what is wrong at one place, and the check
 * goes on behind it. Source of the codes: docs/cli.md, "What verify finds".
 */

/**
 * What every command says of the last piece of a log that is not whole. Whether a crash cut it short or it was damaged
 * later cannot be told.
 */
export const TORN_END = "end of the log is damaged or was never fully written";

/** How much a finding weighs. A note is worth knowing, and nothing is wrong. */
export type Severity = "error" | "note";

/** Every kind of finding. Codes are stable. */
export const FINDING_SEVERITY = {
  /** The storage below the sessions is damaged, by its own check: pages, tables, indexes. */
  "store-damaged": "error",
  /** Rows, or a file, that belong to no session. */
  foreign: "error",
  /** The session's header cannot be read, or is not what was written. */
  "header-damaged": "error",
  /** The header belongs to another place: its id or its folder is another one. */
  "header-misplaced": "error",
  /** The log was made by another version of the format. */
  "unsupported-version": "error",
  /** Several logs claim one id. */
  duplicate: "error",
  /** The file, its folder or the device does not let itself be read. */
  unreadable: "error",
  /** Bytes that are not what was written: a frame, a checksum, a row, half a character. */
  damaged: "error",
  /** Whole, but no record: JSON, shape or envelope. */
  malformed: "error",
  /** The end of the log is damaged or was never fully written. */
  "torn-tail": "error",
  /** Seqs that are not there. */
  "events-missing": "error",
  /** A seq that was there before: the same event again, or another branch of the log. */
  "events-repeated": "error",
  /** A type that is neither known nor ignorable. */
  "unknown-type": "error",
  /** Sources or a surface operation that name what is not there. */
  reference: "error",
  /** A tool call without its one result, or a result without its call. */
  "tool-pairing": "error",
  /** Turns and Steps that do not begin and end in turn. */
  "turn-balance": "error",
  /** The last Turn is open: it is running now, or it was interrupted, and is closed when the session is next opened. */
  "open-turn": "note",
  /** The log lies in another project's folder than its header's working directory names. */
  "other-folder": "note",
} as const satisfies Readonly<Record<string, Severity>>;

export type FindingCode = keyof typeof FINDING_SEVERITY;

/** One thing that is wrong, or worth knowing, at one place. */
export interface Finding {
  readonly code: FindingCode;
  /** What it is, as a sentence without its end. */
  readonly message: string;
  /** As exact as it is known: file, byte offset, number of the frame or row, seq, type, field. */
  readonly place: Place;
  readonly expected?: string;
  readonly found?: string;
  /** The events that damage cost, where what stands behind it shows that: so many from this seq on. */
  readonly missing?: { readonly seq: number; readonly events: number };
}

/** Whether something is wrong, not only worth knowing. */
export function isError({ code }: Finding): boolean {
  return FINDING_SEVERITY[code] === "error";
}

/** What a reader threw, as a finding. */
export function findingOf(code: FindingCode, error: CorruptError, place: Place = {}): Finding {
  return {
    code,
    message: error.what,
    place: { ...place, ...error.place },
    expected: error.expected,
    found: error.found,
  };
}
