import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";

/**
 * The writing side of a backend: blocking code that runs on the storage thread, or in process in tests.
 * Every method throws typed errors; after a throw nothing of the call is left in the store.
 */
export interface BackendWriter {
  appendBatch(batches: readonly AppendBatch[]): readonly AppendOutcome[];
  commitRepair(id: string, repair: Repair): Revision;
  delete(id: string): boolean;
  /** Makes durable what a process that was killed may have left of a session. Once before a session is read. */
  settle?(id: string): void;
  checkWritable(): void;
  /**
   * Work that no call waits for. Called between calls, {@link TIDY_MS} after the first of them and not more often; gives
   * back in how many milliseconds it wants to be called again without a further call, if at all. Throws nothing.
   */
  tidy?(): number | undefined;
  close(): void;
}

/** How long tidying waits after a call: most of what is to be tidied up is gone by then. Milliseconds. */
export const TIDY_MS = 1_000;
