import { runPersistenceContract } from "../contract/index.ts";
import { BROKEN, SOUND } from "./broken/index.ts";

/* Run by broken.test.ts in a process of its own, and no test file by its name: most of these cases fail. */

for (const { fault, factory, capabilities, tear } of [...SOUND, ...BROKEN]) {
  const options = { runs: 2, ...(tear === undefined ? {} : { tear }) };
  runPersistenceContract(fault, factory, capabilities, options);
}
