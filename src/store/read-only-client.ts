import { StorageFailedError } from "./errors.ts";
import type { StorageClient } from "./storage-thread.ts";

/** The writing side of a store that was opened for reading: refuses everything. */
export function readOnlyClient(path: string): StorageClient {
  const refuse = async (): Promise<never> => {
    throw new StorageFailedError("The store was opened for reading only", {
      place: { path },
      hint: "Open it for writing, which takes its lock.",
    });
  };
  return {
    appendBatch: refuse,
    commitRepair: refuse,
    delete: refuse,
    settle: async () => {},
    checkWritable: refuse,
    close: async () => {},
  };
}
