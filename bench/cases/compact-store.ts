import { openCompactor } from "../../src/store/open-compactor.ts";
import { parseStoreName } from "../../src/store/store-name.ts";

/* Compacts one session of a store: `STORE ID`. */

const [store = "", id = ""] = process.argv.slice(2);
await using compactor = await openCompactor(parseStoreName(store), { dryRun: false });
const { state } = await compactor.compact(id);
if (state !== "compacted") throw new Error(`${id} is ${state}`);
const { before, after } = await compactor.finish();
process.stdout.write(JSON.stringify({ before, after }));
