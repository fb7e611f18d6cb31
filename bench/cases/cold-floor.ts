import { Database } from "bun:sqlite";

/* The floor of a cold open: read the rows of the session and parse the same texts. */

const [path = ""] = process.argv.slice(2);
const database = new Database(path, { readonly: true });
const start = performance.now();
const rows = database.query<{ body: string; sources: string | null }, []>(
  "SELECT seq, count, type, time, body, sources, checksum FROM records ORDER BY id",
);
for (const { body, sources } of rows.all()) {
  JSON.parse(body);
  if (sources !== null) JSON.parse(sources);
}
process.stdout.write(JSON.stringify({ floor: performance.now() - start }));
