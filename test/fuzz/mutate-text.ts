import type { Random } from "../../bench/random.ts";

/* What is done to the text of one line: its JSON, and the bytes of its characters. */

const NUMBERS = [
  "1e999",
  "-0",
  "1e308",
  "9007199254740993",
  "-1",
  "0.5",
  "1E400",
  "00",
  `1${"0".repeat(400)}`,
  "NaN",
];
const VALUES = ['"x"', "null", "true", "[]", "{}", '"\\ud800"', '"\\u0000"', '"\u2028"', '""', "[[[[]]]]"];
const KEYS = [
  "seq",
  "type",
  "time",
  "data",
  "surfaceOp",
  "sourceEventSeqs",
  "ignorable",
  "seq0",
  "time0",
  "__proto__",
];
const TYPES = [
  "turn/end",
  "turn/start",
  "text-chunks",
  "future/event",
  "user/message",
  "tool/result",
  "",
  "x",
];
const NOT_TEXT = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]];
/** Levels of nesting: beneath the limit, at it, beyond it, and far beyond any stack. */
const DEPTHS = [500, 511, 512, 513, 2_000];
const DEEPEST = 200_000;

type TextMutation = (line: string, random: Random) => string | Buffer;

/** Replaces one match of a pattern that is chosen; the line itself where there is none. */
function replaceOne(line: string, pattern: RegExp, random: Random, to: (found: string) => string): string {
  const matches = [...line.matchAll(pattern)];
  if (matches.length === 0) return line;
  const { 0: found, index } = random.pick(matches);
  return line.slice(0, index) + to(found) + line.slice(index + found.length);
}

const MUTATIONS: readonly TextMutation[] = [
  (line, random) => replaceOne(line, /-?\d+/g, random, () => random.pick(NUMBERS)),
  (line, random) =>
    replaceOne(line, /(?<=:)\d+/g, random, (found) => String(Number(found) + random.between(-2, 2))),
  (line, random) =>
    replaceOne(line, /(?<="seq0?":)\d+/g, random, (found) => String(Number(found) + random.between(-3, 3))),
  (line, random) => replaceOne(line, /"[^"\\]*"(?=[,}\]])/g, random, () => random.pick(VALUES)),
  (line, random) =>
    replaceOne(line, /(?<="type":)"[^"]*"/g, random, () => JSON.stringify(random.pick(TYPES))),
  (line, random) => replaceOne(line, /"[^"\\]*"(?=:)/g, random, () => JSON.stringify(random.pick(KEYS))),
  (line, random) =>
    replaceOne(line, /[{]/g, random, (found) => `${found}"${random.pick(KEYS)}":${random.pick(VALUES)},`),
  (line, random) =>
    replaceOne(line, /[}]/g, random, (found) => `,"${random.pick(KEYS)}":${random.pick(NUMBERS)}${found}`),
  (line, random) =>
    replaceOne(line, /[[\]{},:"]/g, random, () => random.pick(["", "[", "}", ",,", '"', "\\"])),
  (line, random) =>
    replaceOne(line, /(?<=:)("[^"\\]*"|\d+)/g, random, (found) =>
      nested(found, random.below(20) === 0 ? DEEPEST : random.pick(DEPTHS)),
    ),
  (line, random) =>
    replaceOne(line, /\[[\d,]*\]/g, random, () =>
      random.pick(["[0,0]", "[1,0]", "[-1]", "[1e9]", "[[0,4294967295]]"]),
    ),
  (line, random) =>
    replaceOne(line, /[a-z]/g, random, () =>
      random.pick(["\\u0000", "\\ud83d", "\\x", "\t", "\u0085", "\ufeff", "\\uD800\\uDC00"]),
    ),
  (line, random) => line.slice(0, random.below(line.length)),
  (line, random) => `${line}${random.pick([" ", "\r", "}", line, "\n\n", ",", "\u0000"])}`,
  (line, random) => `${random.pick([" ", "\ufeff", "[", "\n"])}${line}`,
  (_, random) =>
    random.pick(["", "null", "[]", "{}", "0", '"x"', '{"type":"turn/end"}', "[".repeat(100_000)]),
  (line, random) => withBytes(line, random),
  (line, random) => withBytes(line, random),
];

function nested(value: string, depth: number): string {
  return `${"[".repeat(depth)}${value}${"]".repeat(depth)}`;
}

function withBytes(line: string, random: Random): Buffer {
  const bytes = Buffer.from(line);
  const at = random.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(NOT_TEXT)), bytes.subarray(at + 1)]);
}

const HEADER_EDITS: readonly TextMutation[] = [
  (line, random) =>
    line.replace(
      /"version":\d+/,
      () => `"version":${random.pick(["1", "3", "-1", "1e999", '"0"', "null", "0.0", "4294967296"])}`,
    ),
  (line, random) =>
    line.replace(
      /"id":"(?:[^"\\]|\\.)*"/,
      () => `"id":${random.pick(['""', '"other"', "5", '"\\ud800"', '"../../x"', '"\\u0000"', "null"])}`,
    ),
  (line, random) =>
    line.replace(
      /"createdAt":\d+/,
      () => `"createdAt":${random.pick(["-1", "1e300", "9007199254740993", '"now"', "0.1"])}`,
    ),
  (line, random) =>
    line.replace(
      /"delegationDepth":\d+/,
      () => `"delegationDepth":${random.pick(["-1", "1e999", "null", "[]"])}`,
    ),
  (line, random) =>
    line.replace(
      /"cwd":"[^"]*"/,
      () => `"cwd":${random.pick(['""', '"/other"', '"C:\\\\work"', "7", '"\\ud800"'])}`,
    ),
  (line, random) =>
    line.replace(
      /\}$/,
      () =>
        `,"${random.pick(["x", "id", "version", "seedLength", "parentSession"])}":${random.pick([...VALUES, ...NUMBERS])}}`,
    ),
];

/** Does one thing to a line; to the header of a log some that concern headers alone. */
export function mutateText(line: string, random: Random, isHeader: boolean): string | Buffer {
  const choice = isHeader && random.below(3) > 0 ? HEADER_EDITS : MUTATIONS;
  return line === "" ? "x" : random.pick(choice)(line, random);
}
