import { afterAll } from "bun:test";
import { join } from "node:path";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { openSqliteBackend } from "../../src/store/sqlite/index.ts";
import { runPersistenceContract } from "../contract/index.ts";
import { KeptWorkers } from "../fixtures/kept-workers.ts";

const workers = new KeptWorkers();
afterAll(() => workers[Symbol.dispose]());

runPersistenceContract(
  "SQLite, writing on its storage thread",
  async ({ place, decorate, ...options }) => {
    const backend = await openSqliteBackend({ path: join(place, "store.db"), thread: "worker", workers });
    return new PersistenceCoordinator(decorate(backend), options);
  },
  { durable: true, crossProcessLock: true, faults: true },
  { runs: 25 },
);
