import type { SessionEvent } from "../../src/session/events.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { generateSession } from "../generator.ts";
import { BenchFolder, residentMb } from "../measure.ts";

/* Bulk appends of 1,000 events a batch, and what 200,000 appended events do to resident memory. */

const EVENTS = 200_000;
const BATCH = 1_000;

using folder = new BenchFolder();
await using store = await openSqlite({ path: folder.file("store.db"), clock: () => 0, chunkWindowMs: 0 });
const header = { version: 0 as const, id: "bulk", createdAt: 0 };
await using session = await store.create(header);

// Warm up, so that the memory of the code itself is not counted.
await using warm = await store.create({ ...header, id: "warm" });
for (const batch of batches(20_000)) await store.append(warm.id, batch);

const before = residentMb();
let spent = 0;
let peak = 0;
for (const batch of batches(EVENTS)) {
  const start = performance.now();
  await store.append(session.id, batch);
  spent += performance.now() - start;
  peak = Math.max(peak, process.memoryUsage().rss / 1024 / 1024);
}
const after = residentMb();
process.stdout.write(
  JSON.stringify({ rate: (EVENTS / spent) * 1000, growth: after - before, peakGrowth: peak - before }),
);

function* batches(events: number): Generator<SessionEvent[]> {
  let gathered: SessionEvent[] = [];
  for (const batch of generateSession({ seed: 7, events })) {
    for (const event of batch) {
      gathered.push(event);
      if (gathered.length < BATCH) continue;
      yield gathered;
      gathered = [];
    }
  }
  if (gathered.length > 0) yield gathered;
}
