import { readFileSync } from "node:fs";

/* The floor of a cold open of a log: decompress, decode and parse the same bytes. */

const [path = ""] = process.argv.slice(2);
const start = performance.now();
const text = Bun.zstdDecompressSync(readFileSync(path)).toString("utf8");
let lines = 0;
for (const line of text.split("\n")) {
  if (line === "") continue;
  JSON.parse(line);
  lines += 1;
}
process.stdout.write(JSON.stringify({ floor: performance.now() - start, lines }));
