import type { AppendBatch, AppendOutcome, Repair, Revision } from "./backend.ts";

/**
 * The writing side of a backend: blocking code that runs on the storage thread, or in process in tests.
 * Every method throws typed errors; after a throw nothing of the call is left in the store.
 */
export interface BackendWriter {
  appendBatch(batches: readonly AppendBatch[]): readonly AppendOutcome[];
  commitRepair(id: string, repair: Repair): Revision;
  delete(id: string): boolean;
  checkWritable(): void;
  close(): void;
}
