import { openSqlite } from "../../src/store/sqlite/index.ts";
import { BenchFolder, residentMb } from "../measure.ts";
import { thousands } from "../thousands.ts";

/* What appending 200,000 events to an open session does to resident memory. */

using folder = new BenchFolder();
await using store = await openSqlite({ path: folder.file("store.db"), clock: () => 0, chunkWindowMs: 0 });
await using session = await store.create({ version: 0, id: "growth", createdAt: 0 });

// Warm up in another session, so that the memory of the code itself is not counted.
await using warm = await store.create({ version: 0, id: "warm", createdAt: 0 });
for (const batch of thousands(20_000)) await store.append(warm.id, batch);

const before = residentMb();
let peak = before;
for (const batch of thousands(200_000)) {
  await store.append(session.id, batch);
  peak = Math.max(peak, process.memoryUsage().rss / 1024 / 1024);
}
process.stdout.write(JSON.stringify({ growth: residentMb() - before, peakGrowth: peak - before }));
