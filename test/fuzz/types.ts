import type { StoreKind } from "../fixtures/host-lab.ts";

/** A record as it was stored before anything happened to it. */
export interface OriginalRecord {
  readonly seq: number;
  readonly count: number;
  readonly text: string;
}

/** A session as it was stored before anything happened to it. */
export interface Original {
  readonly id: string;
  readonly headerText: string;
  readonly records: readonly OriginalRecord[];
}

/** Files by their path below the folder of a store. */
export type Files = Map<string, Buffer>;

/** Name of the database in its folder; the logs of a root lie in {@link LOGS}. */
export const DATABASE = "agent.db";
export const LOGS = "sessions";

/** Length of the shortest string that a database quotes here: texts are small. */
export const LEAST_QUOTED = 48;

/** A damaged store, and what is known of how it became one. */
export interface Input {
  readonly kind: StoreKind;
  /** Below a folder of their own. */
  readonly files: Files;
  /** What was done, in order. */
  readonly steps: readonly string[];
  /** Sessions that no byte of was touched. */
  readonly untouched: readonly Original[];
  /** Every session that some bytes of the input come from. */
  readonly originals: readonly Original[];
  /** Whether texts were changed together with their checksums: then what the bytes say is what counts. */
  readonly forged: boolean;
  /** Whether nothing but the ends of files was cut off. */
  readonly onlyCut: boolean;
  /** How long one step of the check may take, in milliseconds. */
  readonly patience: number;
}
