import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { walkFrame } from "../../src/store/jsonl/frame-walker.ts";

/* The floor of reading a long log: decompress, decode and parse the same bytes, in pieces, and keep nothing. */

const PIECE = 4 * 1024 * 1024;
const [path = ""] = process.argv.slice(2);
const isFramed = path.endsWith(".zstd");
const start = performance.now();
const file = openSync(path, "r");
const { size } = fstatSync(file);
let lines = 0;
let rest = Buffer.alloc(0);
for (let at = 0; at < size; ) {
  const piece = Buffer.allocUnsafe(PIECE);
  const count = readSync(file, piece, 0, PIECE, at);
  at += count;
  const bytes = Buffer.concat([rest, piece.subarray(0, count)]);
  const end = isFramed ? lastFrameEnd(bytes) : bytes.lastIndexOf(0x0a) + 1;
  const whole = bytes.subarray(0, end);
  const text = (isFramed ? Bun.zstdDecompressSync(whole) : whole).toString("utf8");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    JSON.parse(line);
    lines += 1;
  }
  rest = Buffer.from(bytes.subarray(end));
}
closeSync(file);
process.stdout.write(JSON.stringify({ floor: performance.now() - start, lines }));

function lastFrameEnd(bytes: Buffer): number {
  let end = 0;
  for (;;) {
    const walk = walkFrame(bytes, end);
    if (walk.kind !== "frame") return end;
    end = walk.end;
  }
}
