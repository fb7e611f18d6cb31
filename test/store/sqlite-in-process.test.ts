import { join } from "node:path";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { openSqliteBackend } from "../../src/store/sqlite/index.ts";
import { runPersistenceContract } from "../contract/index.ts";

runPersistenceContract(
  "SQLite, writing in process",
  async ({ place, decorate, ...options }) => {
    const backend = await openSqliteBackend({ path: join(place, "store.db"), thread: "process" });
    return new PersistenceCoordinator(decorate(backend), options);
  },
  { durable: true, crossProcessLock: true, faults: true },
);
