import { statSync } from "node:fs";
import { copySession } from "../../src/store/copy.ts";
import { openJsonl, openJsonlReadOnly } from "../../src/store/jsonl/index.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { peakMb } from "../measure.ts";

/* `fill`: makes one log of many MB. Then, each in a process of its own: `page`: reads anywhere in it; `open`: resumes it
 * and goes through all of it; `copy`: copies it to a SQLite store. */

const [mode = "fill", root = "", target = ""] = process.argv.slice(2);
const MEGABYTES = 600;
const options = { root, clock: () => 0, chunkWindowMs: 0 };
const header = { version: 0 as const, id: "big", createdAt: 0 };
const EVENT_BYTES = 8_192;
const BATCH = 100;
const events = Math.floor((MEGABYTES * 1_000_000) / EVENT_BYTES);

const start = performance.now();
if (mode === "fill") {
  await using store = await openJsonl({ ...options, encoding: "none", thread: "process" });
  {
    await using session = await store.create(header);
    await session.log.append({ type: "todo/write", data: { n: 0 } });
  }
  for (let seq = 1; seq < events; seq += BATCH) {
    const text = "0123456789abcdef".repeat(EVENT_BYTES / 16);
    const batch = Array.from({ length: BATCH }, (_, k) => ({
      type: "todo/write" as const,
      seq: seq + k,
      time: 0,
      data: { n: seq + k, text },
    }));
    await store.append(header.id, batch);
  }
  const bytes = statSync(store.locate(header)).size;
  process.stdout.write(JSON.stringify({ bytes, ms: performance.now() - start, peak: peakMb() }));
} else if (mode === "open") {
  await using store = await openJsonl(options);
  await using preparation = await store.prepare(header.id);
  let read = 0;
  for (const text of preparation.session.log.texts()) read += text.length;
  process.stdout.write(JSON.stringify({ read, ms: performance.now() - start, peak: peakMb() }));
} else if (mode === "copy") {
  await using from = await openJsonlReadOnly(options);
  await using to = await openSqlite({ path: target, clock: () => 0, chunkWindowMs: 0 });
  const outcome = await copySession(from, to, header.id);
  process.stdout.write(JSON.stringify({ outcome, ms: performance.now() - start, peak: peakMb() }));
} else {
  await using store = await openJsonlReadOnly(options);
  let read = 0;
  for (let n = 0; n < 50; n += 1) {
    read += (await store.readFrom(header.id, (n * 7_919) % events, { limit: 100 })).length;
  }
  process.stdout.write(JSON.stringify({ read, ms: performance.now() - start, peak: peakMb() }));
}
