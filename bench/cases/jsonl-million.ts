import { statSync } from "node:fs";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import { median, percentile, residentMb } from "../measure.ts";
import { thousands } from "../thousands.ts";

/* One session of a million events: appending it, and 100 events from anywhere of it. */

const [root = "", count = "1000000"] = process.argv.slice(2);
const READS = 200;
const options = { root, clock: () => 0, chunkWindowMs: 0 };
const header = { version: 0 as const, id: "million", createdAt: 0 };
let seconds = 0;
let path = "";
{
  await using store = await openJsonl(options);
  await using session = await store.create(header);
  const inFlight: Promise<void>[] = [];
  const start = performance.now();
  for (const batch of thousands(Number(count))) {
    if (inFlight.length >= 2) await inFlight.shift();
    inFlight.push(store.append(session.id, batch));
  }
  await Promise.all(inFlight);
  seconds = (performance.now() - start) / 1000;
  path = store.locate(header);
}
await using store = await openJsonl(options);
const openStart = performance.now();
await store.readFrom(header.id, 0, { limit: 1 });
const open = performance.now() - openStart;
const times: number[] = [];
for (let n = 0; n < READS; n += 1) {
  const from = Math.floor((n * 7_919 * 101) % (Number(count) - 100));
  const start = performance.now();
  const events = await store.readFrom(header.id, from, { limit: 100 });
  times.push(performance.now() - start);
  if (events.length !== 100 || events[0]?.seq !== from) throw new Error(`wrong events at ${from}`);
}
process.stdout.write(
  JSON.stringify({
    seconds,
    open,
    p50: median(times),
    p99: percentile(times, 0.99),
    worst: Math.max(...times),
    bytes: statSync(path).size,
    resident: residentMb(),
  }),
);
