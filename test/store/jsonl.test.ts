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
      // The storage thread once, the calling thread once: what runs on them is the same.
      const thread = encoding === "zstd" ? "worker" : "process";
      const backend = await openJsonlBackend({ root: rootAt(place), encoding, thread });
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
