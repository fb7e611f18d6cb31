import { join } from "node:path";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { findLog } from "../../src/store/jsonl/directory.ts";
import { openJsonlBackend } from "../../src/store/jsonl/index.ts";
import { runPersistenceContract } from "../contract/index.ts";
import { tearLog } from "../fixtures/log-files.ts";

const rootAt = (place: string) => join(place, "sessions");

for (const encoding of ["zstd", "none"] as const) {
  runPersistenceContract(
    `JSONL, ${encoding === "zstd" ? "Zstandard frames" : "plain lines"}`,
    async ({ place, decorate, ...options }) => {
      // The contract of SQLite runs on the storage thread, this one on the calling thread: what runs on them is the same.
      const backend = await openJsonlBackend({ root: rootAt(place), encoding, thread: "process" });
      return new PersistenceCoordinator(decorate(backend), options);
    },
    { durable: true, crossProcessLock: true, faults: true },
    {
      runs: 25,
      tear: (place, id) => {
        const log = findLog(rootAt(place), id);
        if (log === undefined) throw new Error(`no log of ${id}`);
        tearLog(log.path, encoding);
      },
    },
  );
}
