import type { Encoding } from "../../../src/store/jsonl/layout.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { encodeBatch, frameOf, headerText, textsOf, titleText } from "./log-bytes.ts";

/* Every kind of damage, done to one small log; what is found, and what a repair makes of it. */

/** Two Turns in four batches. */
export const BATCHES = textsOf([
  [turnStart(1), userMessage("first")],
  [
    { type: "session/title", data: "a" },
    { type: "session/title", data: "b" },
  ],
  [turnEnd(1), turnStart(2), userMessage("second")],
  [turnEnd(2)],
]);
export const TEXTS = BATCHES.flat();

export interface Kind {
  readonly name: string;
  readonly encodings: readonly Encoding[];
  /** The header first, then the batches: whatever stands in the file. */
  readonly parts: (encoding: Encoding) => Uint8Array[];
  /** Codes that `verify` tells, in stored order. */
  readonly codes: readonly string[];
  /** Index of the part in which the first of them lies. */
  readonly at: number;
  readonly keptEvents: number;
  /** Events that can be read of what is set aside. */
  readonly cutEvents: number;
  readonly closers: number;
  readonly header?: "made";
}

const BOTH = ["zstd", "none"] as const;
const ZSTD = ["zstd"] as const;

const header = (encoding: Encoding) => encodeBatch([headerText("s")], encoding);
const sound = (encoding: Encoding) => [
  header(encoding),
  ...BATCHES.map((texts) => encodeBatch(texts, encoding)),
];

/** A sound log of which one part is another one. */
function replaced(index: number, part: (encoding: Encoding, old: Uint8Array) => Uint8Array) {
  return (encoding: Encoding) => sound(encoding).map((old, k) => (k === index ? part(encoding, old) : old));
}

function flipped(bytes: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x5a;
  return copy;
}

function texts(index: number): string[] {
  return [...(BATCHES[index] ?? [])];
}

const OTHER_BRANCH = [titleText(2, "c"), titleText(3, "d")];
const MISFIT = JSON.stringify({
  ...JSON.parse(BATCHES[2]?.[2] ?? ""),
  surfaceOp: { op: "replace", start: 0, end: 0 },
  sourceEventSeqs: [0],
});

export const KINDS: readonly Kind[] = [
  {
    name: "a flipped bit in a frame",
    encodings: ZSTD,
    parts: replaced(2, (_, old) => flipped(old, old.length - 6)),
    codes: ["damaged"],
    at: 2,
    keptEvents: 2,
    cutEvents: 4,
    closers: 1,
  },
  {
    name: "two such frames in a row",
    encodings: ZSTD,
    parts: (encoding) =>
      sound(encoding).map((old, k) => (k === 1 || k === 2 ? flipped(old, old.length - 6) : old)),
    codes: ["damaged", "damaged"],
    at: 1,
    keptEvents: 0,
    cutEvents: 4,
    closers: 0,
  },
  {
    name: "bytes between two frames",
    encodings: ZSTD,
    parts: replaced(2, (_, old) => Buffer.concat([Buffer.from("what is this?"), old])),
    codes: ["damaged"],
    at: 2,
    keptEvents: 2,
    cutEvents: 6,
    closers: 1,
  },
  {
    name: "a frame without its end, and others behind it",
    encodings: ZSTD,
    parts: replaced(2, (_, old) => old.subarray(0, -7)),
    codes: ["damaged"],
    at: 2,
    keptEvents: 2,
    cutEvents: 4,
    closers: 1,
  },
  {
    name: "a frame that ends within a line",
    encodings: ZSTD,
    parts: replaced(2, () => frameOf(texts(1).join("\n"))),
    codes: ["malformed"],
    at: 2,
    keptEvents: 3,
    cutEvents: 4,
    closers: 1,
  },
  {
    name: "a frame of nothing",
    encodings: ZSTD,
    parts: replaced(2, (_, old) => Buffer.concat([frameOf(""), old])),
    codes: ["malformed"],
    at: 2,
    keptEvents: 2,
    cutEvents: 6,
    closers: 1,
  },
  {
    name: "a line that is not JSON",
    encodings: BOTH,
    parts: replaced(2, (encoding) => encodeBatch([texts(1)[0] ?? "", "{oops", texts(1)[1] ?? ""], encoding)),
    codes: ["malformed"],
    at: 2,
    keptEvents: 3,
    cutEvents: 5,
    closers: 1,
  },
  {
    name: "a line that is JSON in its place, with wrong details",
    encodings: BOTH,
    parts: replaced(3, (encoding) =>
      encodeBatch(
        [JSON.stringify({ type: "turn/end", seq: 4, time: 1, data: {} }), ...texts(2).slice(1)],
        encoding,
      ),
    ),
    codes: ["malformed"],
    at: 3,
    keptEvents: 4,
    cutEvents: 3,
    closers: 1,
  },
  {
    name: "a line that is not UTF-8",
    encodings: BOTH,
    parts: replaced(2, (encoding) => {
      const lines = Buffer.from(`${texts(1).join("\n")}\n`);
      lines[lines.length - 6] = 0xff;
      return encoding === "zstd" ? frameOf(lines) : lines;
    }),
    codes: ["damaged"],
    at: 2,
    keptEvents: 3,
    cutEvents: 4,
    closers: 1,
  },
  {
    name: "a batch that is missing",
    encodings: BOTH,
    parts: (encoding) => sound(encoding).filter((_, k) => k !== 2),
    codes: ["events-missing"],
    at: 2,
    keptEvents: 2,
    cutEvents: 4,
    closers: 1,
  },
  {
    name: "a batch that stands there twice",
    encodings: BOTH,
    parts: replaced(2, (_, old) => Buffer.concat([old, old])),
    codes: ["events-repeated"],
    at: 2,
    keptEvents: 4,
    cutEvents: 6,
    closers: 1,
  },
  {
    name: "two branches of the same seqs",
    encodings: BOTH,
    parts: replaced(2, (encoding, old) => Buffer.concat([old, encodeBatch(OTHER_BRANCH, encoding)])),
    codes: ["events-repeated"],
    at: 2,
    keptEvents: 4,
    cutEvents: 6,
    closers: 1,
  },
  {
    name: "a message that changes one which is not there",
    encodings: BOTH,
    parts: replaced(3, (encoding) => encodeBatch([...texts(2).slice(0, 2), MISFIT], encoding)),
    codes: ["reference"],
    at: 3,
    keptEvents: 6,
    cutEvents: 2,
    closers: 1,
  },
  {
    name: "an end that was never fully written",
    encodings: BOTH,
    parts: replaced(4, (_, old) => old.subarray(0, -5)),
    codes: ["torn-tail"],
    at: 4,
    keptEvents: 7,
    cutEvents: 0,
    closers: 1,
  },
  {
    name: "zeros at the end",
    encodings: BOTH,
    parts: (encoding) => [...sound(encoding), Buffer.alloc(5_000)],
    codes: ["torn-tail"],
    at: 5,
    keptEvents: 8,
    cutEvents: 0,
    closers: 0,
  },
  {
    name: "a flipped bit in the header",
    encodings: BOTH,
    parts: replaced(0, (encoding, old) => flipped(old, encoding === "zstd" ? old.length - 6 : 0)),
    codes: ["header-damaged"],
    at: 0,
    keptEvents: 8,
    cutEvents: 0,
    closers: 0,
    header: "made",
  },
  {
    name: "no header",
    encodings: BOTH,
    parts: (encoding) => sound(encoding).slice(1),
    codes: ["header-damaged"],
    at: 0,
    keptEvents: 8,
    cutEvents: 0,
    closers: 0,
    header: "made",
  },
  {
    name: "an empty file",
    encodings: BOTH,
    parts: () => [],
    codes: ["header-damaged"],
    at: 0,
    keptEvents: 0,
    cutEvents: 0,
    closers: 0,
    header: "made",
  },
];

/** Kinds that one encoding can have. */
export function kindsOf(encoding: Encoding): readonly Kind[] {
  return KINDS.filter(({ encodings }) => encodings.includes(encoding));
}
