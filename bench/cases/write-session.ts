import { statSync } from "node:fs";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { generateSession, workloadHeader } from "../generator.ts";

/* Writes the generated session into a new store, in the batches in which it would become durable. */

const [path = "", seed = "1"] = process.argv.slice(2);
const header = workloadHeader(Number(seed));
let events = 0;
{
  await using store = await openSqlite({ path, clock: () => 0, chunkWindowMs: 0 });
  await using session = await store.create(header);
  for (const batch of generateSession({ seed: Number(seed) })) {
    await store.append(session.id, batch);
    events += batch.length;
  }
}
process.stdout.write(JSON.stringify({ id: header.id, events, bytes: statSync(path).size }));
