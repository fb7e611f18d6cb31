import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { encodeEvent, packBatch } from "../../src/session/encoding.ts";
import { encodeLines } from "../../src/store/jsonl/line-encoder.ts";
import { generateSession, workloadHeader } from "../generator.ts";

/*
 * Makes one long log of at least so many MB of text, as frames or as plain lines: a session that is shaped like a real
 * one, again and again, with seqs and Turns going on. Written past the store, which would sync every batch.
 */

/** A parsed record, as far as its numbers are shifted. */
interface Row {
  seq?: number;
  seq0?: number;
  data: { turn?: number };
  sourceEventSeqs?: number[];
  surfaceOp?: "append" | { op: string; start: number; end: number };
}

const [root = "", encoding = "none", megabytes = "600"] = process.argv.slice(2);
const kind = encoding === "zstd" ? "zstd" : "none";
const header = workloadHeader(1);
const batches: string[][] = [];
let length = 0;
let turns = 0;
for (const batch of generateSession({ seed: 1, interrupted: false })) {
  batches.push(packBatch(batch.map(encodeEvent)).map(({ text }) => text));
  length += batch.length;
  for (const { type, data } of batch)
    if (type === "turn/start") turns = Math.max(turns, (data as { turn: number }).turn);
}

/** The text of a record of the first round as it stands in a later one. */
function shifted(text: string, round: number): string {
  const row: Row = JSON.parse(text);
  const by = round * length;
  if (row.seq !== undefined) row.seq += by;
  if (row.seq0 !== undefined) row.seq0 += by;
  if (row.data.turn !== undefined) row.data.turn += round * turns;
  if (row.sourceEventSeqs !== undefined) row.sourceEventSeqs = row.sourceEventSeqs.map((seq) => seq + by);
  const { surfaceOp } = row;
  if (typeof surfaceOp === "object") {
    row.surfaceOp = { ...surfaceOp, start: surfaceOp.start + by, end: surfaceOp.end + by };
  }
  return JSON.stringify(row);
}

const path = join(root, "--srv-project--", header.id, `session.jsonl${kind === "zstd" ? ".zstd" : ""}`);
mkdirSync(dirname(path), { recursive: true });
const file = openSync(path, "w", 0o600);
let written = 0;
let text = 0;
function put(texts: readonly string[]): void {
  const bytes = encodeLines(texts, kind, path);
  written += writeSync(file, bytes);
  text += texts.reduce((sum, line) => sum + line.length + 1, 0);
}
put([JSON.stringify({ type: "session", ...header })]);
let round = 0;
for (; text < Number(megabytes) * 1_000_000; round += 1)
  for (const batch of batches) put(batch.map((line) => shifted(line, round)));
closeSync(file);
process.stdout.write(JSON.stringify({ path, events: round * length, bytes: written, text }));
