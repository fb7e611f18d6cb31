import { openJsonl, openJsonlReadOnly } from "../../src/store/jsonl/index.ts";
import { residentMb } from "../measure.ts";

/* Opens a log in a new process, reads its end, and reads its end first in another run: `open` or `tail`. */

const [mode = "open", root = "", id = "", last = "0", writing = ""] = process.argv.slice(2);
const options = { root, clock: () => 0, chunkWindowMs: 0 };
await using store = writing === "" ? await openJsonlReadOnly(options) : await openJsonl(options);
if (mode === "open") {
  const start = performance.now();
  const { log, closers } = await store.inspect(id);
  const open = performance.now() - start;
  const stored = log.length - closers.length;
  const tailStart = performance.now();
  await store.readFrom(id, stored - 10, { limit: 10 });
  const tail = performance.now() - tailStart;
  const againStart = performance.now();
  await store.readFrom(id, stored - 20, { limit: 10 });
  const again = performance.now() - againStart;
  process.stdout.write(JSON.stringify({ events: stored, open, tail, again, resident: residentMb() }));
} else {
  const start = performance.now();
  const events = await store.readFrom(id, Number(last) - 10, { limit: 10 });
  process.stdout.write(JSON.stringify({ tail: performance.now() - start, events: events.length }));
}
