import { join } from "node:path";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { openSqliteBackend } from "../../src/store/sqlite/index.ts";
import { runPersistenceContract } from "../contract/index.ts";

runPersistenceContract(
  "SQLite, writing on its storage thread",
  async ({ place, decorate, ...options }) => {
    const backend = await openSqliteBackend({ path: join(place, "store.db"), thread: "worker" });
    return new PersistenceCoordinator(decorate(backend), options);
  },
  { durable: true, crossProcessLock: true, faults: true },
  { runs: 25 },
);
