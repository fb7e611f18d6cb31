import type { Place } from "../errors.ts";

/** What an audit of a log finds. docs/cli.md, "What verify finds", explains the codes. */
export type LogFaultCode =
  | "events-missing"
  | "events-repeated"
  | "unknown-type"
  | "reference"
  | "tool-pairing"
  | "turn-balance"
  | "open-turn";

/** One thing that is wrong with a log, or worth knowing, though each of its records is sound in itself. */
export interface LogFault {
  readonly code: LogFaultCode;
  /** What it is, as a sentence without its end. */
  readonly message: string;
  readonly place: Place;
  readonly expected: string;
  readonly found: string;
}

/** A fault of the record that is being looked at. */
export type RecordFault = Omit<LogFault, "place">;

/** `1 event`, `7 events`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
