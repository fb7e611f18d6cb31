import type { SessionEvent } from "../../src/session/events.ts";
import type { Session } from "../../src/session/session.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { BenchFolder } from "../measure.ts";
import { thousands } from "../thousands.ts";

/* Bulk appends of 1,000 events a batch to the store that the argument names, as a copy would: the next batch is made while the disk has the one before. */

const EVENTS = 200_000;
const IN_FLIGHT = 2;
/** Batches that are generated at a time, so that generating is not measured. */
const STRETCH = 20;

using folder = new BenchFolder();
const options = { clock: () => 0, chunkWindowMs: 0 };
await using store =
  process.argv[2] === "jsonl"
    ? await openJsonl({ ...options, root: folder.file("root") })
    : await openSqlite({ ...options, path: folder.file("store.db") });
await using session = await store.create({ version: 0, id: "bulk", createdAt: 0 });

// A copy of any size is long enough for the code to be compiled; a short first session pays for that here.
await using warm = await store.create({ version: 0, id: "warm", createdAt: 0 });
await measure(warm, EVENTS);
process.stdout.write(JSON.stringify({ rate: (EVENTS / (await measure(session, EVENTS))) * 1000 }));

/** Milliseconds for appending `events` generated events. */
async function measure(target: Session, events: number): Promise<number> {
  let spent = 0;
  let stretch: SessionEvent[][] = [];
  for (const batch of thousands(events)) {
    stretch.push(batch);
    if (stretch.length < STRETCH) continue;
    spent += await appendAll(target, stretch);
    stretch = [];
  }
  return spent;
}

async function appendAll(target: Session, batches: readonly SessionEvent[][]): Promise<number> {
  const start = performance.now();
  const inFlight: Promise<void>[] = [];
  for (const batch of batches) {
    if (inFlight.length >= IN_FLIGHT) await inFlight.shift();
    inFlight.push(store.append(target.id, batch));
  }
  await Promise.all(inFlight);
  return performance.now() - start;
}
