import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { MemoryBackend } from "../../src/store/memory/backend.ts";
import { runPersistenceContract } from "../contract/index.ts";

runPersistenceContract(
  "memory",
  async ({ decorate, ...options }) => new PersistenceCoordinator(decorate(new MemoryBackend()), options),
  { durable: false, crossProcessLock: false, faults: true },
);
