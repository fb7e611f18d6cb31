import { openSqlite } from "../../src/store/sqlite/index.ts";
import { residentMb } from "../measure.ts";

/* Opens a stored session in a new process, and reads its end. */

const [path = "", id = ""] = process.argv.slice(2);
await using store = await openSqlite({ path, clock: () => 0, chunkWindowMs: 0 });
const start = performance.now();
const { log, closers } = await store.inspect(id);
const open = performance.now() - start;
const tailStart = performance.now();
const tail = await store.readFrom(id, log.length - closers.length - 10);
const last = performance.now() - tailStart;
const againStart = performance.now();
await store.readFrom(id, log.length - closers.length - 20, { limit: 10 });
const lastAgain = performance.now() - againStart;
// Last: a full collection would slow whatever comes right after it.
const resident = residentMb();
process.stdout.write(
  JSON.stringify({ events: log.length, open, resident, last, lastAgain, read: tail.length }),
);
