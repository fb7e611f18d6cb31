import { statSync, truncateSync } from "node:fs";
import { runPersistenceContract } from "holdfast/contract";
import { PersistenceCoordinator } from "holdfast/coordinator";
import { ExampleBackend } from "./example-backend.ts";

runPersistenceContract(
  "example",
  async ({ place, decorate, ...options }) =>
    new PersistenceCoordinator(decorate(new ExampleBackend(place)), options),
  { durable: true, crossProcessLock: true, faults: true },
  {
    runs: 10,
    tear: async (place, id) => {
      const backend = new ExampleBackend(place);
      const file = backend.locate({ id });
      await backend.close();
      truncateSync(file, statSync(file).size - 20);
    },
  },
);
