import { constants } from "node:zlib";
import type { Random } from "../../bench/random.ts";
import { checksumOf, frameOf, frameOfBlocks } from "../store/jsonl/log-bytes.ts";
import { type Frame, frameAt, framesOf, MAGIC, unfold } from "./frames.ts";
import { type Mutated, noise } from "./mutate-bytes.ts";
import { mutateText } from "./mutate-text.ts";

/* What is done to the frames of a log, by their structure. */

export interface FrameMutated extends Mutated {
  /** Whether there is content now that has its checksum and was not there before. */
  readonly forged: boolean;
}

type FrameMutation = (parts: readonly Buffer[], random: Random, donor: Buffer) => FrameMutated | undefined;

const BLOCK = 128 * 1024;
const MIB = 1024 * 1024;
const BOMB_END = Buffer.from('"}\n');

function joined(parts: readonly Uint8Array[], step: string, forged = false): FrameMutated {
  return { bytes: Buffer.concat(parts), step, forged };
}

function replaced(parts: readonly Buffer[], k: number, ...by: readonly Buffer[]): Buffer[] {
  return [...parts.slice(0, k), ...by, ...parts.slice(k + 1)];
}

function inserted(parts: readonly Buffer[], random: Random, part: Buffer): Buffer[] {
  const k = random.between(1, parts.length);
  return [...parts.slice(0, k), part, ...parts.slice(k)];
}

/** A change of the bytes of one frame, by its structure. */
function patched(
  parts: readonly Buffer[],
  random: Random,
  step: string,
  change: (bytes: Buffer, frame: Frame) => void,
): FrameMutated | undefined {
  const k = random.below(parts.length);
  const copy = Buffer.from(parts[k] ?? "");
  const frame = frameAt(copy, 0);
  if (frame === undefined) return undefined;
  change(copy, frame);
  return joined(replaced(parts, k, copy), `${step} of frame ${k}`);
}

/** Seq after the last record of a frame; 0 where that is not to be told. */
function nextSeq(part: Buffer): number {
  const frame = frameAt(part, 0);
  const content = frame === undefined ? undefined : unfold(part, frame);
  const [last = ""] = content?.toString().split("\n").slice(-2) ?? [];
  const [, seq] = /^\{"type":"[^"]*","seq":(\d+),/.exec(last) ?? [];
  return seq === undefined ? 0 : Number(seq) + 1;
}

/** A record that unfolds to many times its size: a text of one letter. */
function bomb(random: Random, seq: number): Buffer {
  const head = Buffer.from(`{"type":"x/bomb","seq":${seq},"time":1,"ignorable":true,"data":"`);
  const size = random.below(40);
  const blocks = random.pick(size === 0 ? [500, 600] : size < 6 ? [20, 64] : [1, 2, 8]);
  const content = Buffer.concat([head, Buffer.alloc(blocks * BLOCK, "a"), BOMB_END]);
  const repeated = Array.from({ length: blocks }, () => [
    blockHeader(1, BLOCK, false),
    Buffer.from("a"),
  ]).flat();
  const first = [blockHeader(0, head.length, false), head];
  const last = [blockHeader(0, BOMB_END.length, true), BOMB_END];
  return Buffer.concat([MAGIC, Buffer.of(0b100, 0x38), ...first, ...repeated, ...last, checksumOf(content)]);
}

function blockHeader(type: 0 | 1, size: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((isLast ? 1 : 0) | (type << 1) | (size << 3), 0, 3);
  return header;
}

/** A frame of a few bytes that says that it unfolds to very many. */
function boast(random: Random): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(
    random.pick([2n ** 62n, 2n ** 32n, 2n ** 53n, 64n * BigInt(MIB), 65n * BigInt(MIB), 2n ** 64n - 1n]),
  );
  const header =
    random.below(2) === 0
      ? Buffer.concat([Buffer.of(0b11100100), size])
      : Buffer.concat([Buffer.of(0b11000100, random.pick([0xff, 0xf8, 0x80])), size]);
  return frameOfBlocks([{ type: random.pick([0, 1]), content: Buffer.from("{"), times: 1 }], header);
}

/** The content of a frame as it is, or changed line by line, in a frame that has its checksum. */
function refolded(content: Buffer, random: Random, isHeader: boolean): Buffer {
  const lines = content.toString().split("\n");
  lines.pop();
  const k = random.below(Math.max(1, lines.length));
  const line = mutateText(lines[k] ?? "", random, isHeader);
  const parts = lines.map((text, n) => (n === k ? Buffer.from(line) : Buffer.from(text)));
  const end = random.below(12) === 0 ? "" : "\n";
  const changed = Buffer.concat(
    parts.flatMap((part, n) => [part, Buffer.from(n === parts.length - 1 ? end : "\n")]),
  );
  return frameOf(changed, random.below(2) === 0 ? {} : { [constants.ZSTD_c_contentSizeFlag]: 0 });
}

const MUTATIONS: readonly FrameMutation[] = [
  (parts, random) => {
    const [a, b] = [random.below(parts.length), random.below(parts.length)];
    const [one, other] = [parts[a], parts[b]];
    if (one === undefined || other === undefined) return undefined;
    return joined(
      parts.map((part, k) => (k === a ? other : k === b ? one : part)),
      `swap frames ${a} and ${b}`,
    );
  },
  (parts, random) => {
    const k = random.below(parts.length);
    return joined(replaced(parts, k, ...[parts[k] ?? MAGIC, parts[k] ?? MAGIC]), `frame ${k} twice`);
  },
  (parts, random) => {
    const k = random.below(parts.length);
    return joined(replaced(parts, k), `drop frame ${k}`);
  },
  (parts, random, donor) => {
    const frame = random.pick(framesOf(donor));
    const other = donor.subarray(frame.start, frame.end);
    return joined(inserted(parts, random, other), `insert the frame at ${frame.start} of another log`);
  },
  (parts, random) =>
    patched(
      parts,
      random,
      "descriptor",
      (bytes) => void bytes.writeUInt8((bytes[4] ?? 0) ^ (1 << random.below(8)), 4),
    ),
  (parts, random) =>
    patched(
      parts,
      random,
      "window or size",
      (bytes) => void bytes.writeUInt8(random.pick([0, 0xff, 0xf8, random.below(256)]), 5),
    ),
  (parts, random) =>
    patched(parts, random, "block header", (bytes, { blocks }) => {
      const at = random.pick(blocks);
      const value = bytes.readUIntLE(at, 3);
      const type = random.below(4) << 1;
      bytes.writeUIntLE(
        random.pick([value ^ 1, (value & ~0b110) | type, value ^ (1 << random.between(3, 23)), 0xff_ffff, 0]),
        at,
        3,
      );
    }),
  (parts, random) =>
    patched(parts, random, "checksum", (bytes, { end }) => noise(random, 4).copy(bytes, end - 4)),
  (parts, random) =>
    patched(
      parts,
      random,
      "magic number",
      (bytes) => void bytes.writeUInt32LE(random.pick([0, 0x184d2a50, 0xfd2fb527]), 0),
    ),
  (parts, random) =>
    joined(
      inserted(parts, random, Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4])),
      "insert a skippable frame",
    ),
  (parts, random) => joined(inserted(parts, random, frameOf("")), "insert an empty frame", true),
  (parts, random) =>
    joined(
      inserted(parts, random, frameOf(random.pick(["\n", "{}\n", "x", "\n\n"]))),
      "insert a frame of no record",
      true,
    ),
  (parts, random) => joined([...parts, bomb(random, nextSeq(parts.at(-1) ?? MAGIC))], "append a bomb", true),
  (parts, random) => joined(inserted(parts, random, boast(random)), "insert a frame that claims a size"),
  (parts, random) => {
    const k = random.below(parts.length);
    const part = parts[k] ?? MAGIC;
    const frame = frameAt(part, 0);
    const content = frame === undefined ? undefined : unfold(part, frame);
    if (content === undefined) return undefined;
    return joined(
      replaced(parts, k, refolded(content, random, k === 0)),
      `change a line in frame ${k}`,
      true,
    );
  },
  (parts, random) => {
    const k = random.below(parts.length);
    const part = parts[k] ?? MAGIC;
    const frame = frameAt(part, 0);
    const content = frame === undefined ? undefined : unfold(part, frame);
    if (content === undefined || content.length < 2) return undefined;
    const at = random.between(1, content.length - 1);
    const both = [content.subarray(0, at), content.subarray(at)].map((half) => frameOf(half));
    return joined(replaced(parts, k, ...both), `frame ${k} in two at ${at}`, true);
  },
  (parts, random) => {
    const k = random.below(parts.length);
    const rest = parts.slice(k, k + 2).map((part) => {
      const frame = frameAt(part, 0);
      return (frame === undefined ? undefined : unfold(part, frame)) ?? Buffer.alloc(0);
    });
    return joined(
      replaced(parts.slice(0, k + 1), k, frameOf(Buffer.concat(rest)), ...parts.slice(k + 2)),
      `frames ${k} and ${k + 1} in one`,
      true,
    );
  },
  (parts, random) =>
    patched(parts, random, "content without its checksum's fit", (bytes, { end }) => {
      checksumOf(noise(random, 8)).copy(bytes, end - 4);
    }),
];

/** Does one thing to the frames of a log; nothing where it has none, or none that it can be done to. */
export function mutateFrames(bytes: Buffer, random: Random, donor: Buffer): FrameMutated | undefined {
  const frames = framesOf(bytes);
  if (frames.length === 0 || framesOf(donor).length === 0) return undefined;
  const parts = frames.map(({ start, end }) => bytes.subarray(start, end));
  const done = random.pick(MUTATIONS)(parts, random, donor);
  const rest = bytes.subarray(frames.at(-1)?.end ?? 0);
  return done === undefined ? undefined : { ...done, bytes: Buffer.concat([done.bytes, rest]) };
}

/** Does one thing to one line of a plain log; nothing where it has none. */
export function mutateLine(bytes: Buffer, random: Random): FrameMutated | undefined {
  const lines = bytes.toString("latin1").split("\n");
  const k = random.below(6) === 0 ? 0 : random.below(lines.length);
  const before = Buffer.from(
    lines
      .slice(0, k)
      .map((line) => `${line}\n`)
      .join(""),
    "latin1",
  );
  const line = Buffer.from(lines[k] ?? "", "latin1");
  const changed = Buffer.from(mutateText(line.toString(), random, k === 0));
  const rest = bytes.subarray(before.length + line.length);
  return { bytes: Buffer.concat([before, changed, rest]), step: `change line ${k}`, forged: true };
}
