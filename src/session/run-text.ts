import { recordRun, type SessionRecord } from "./records.ts";
import { encodeRun, memberPrefix } from "./runs.ts";

/*
 * The text of a run holds its members' texts as JSON already. Where they are written as this program and dsh write them,
 * they can be copied as they are: to parse a run and to write its members again costs several times as much.
 */

/** A run whose texts can be copied out of its own text. */
export interface RunText {
  readonly text: string;
  readonly seq0: number;
  readonly time0: number;
  /** What stands before the text of each member; see {@link memberPrefix}. */
  readonly beforeText: string;
  /** Where the first gap stands in the text. Gaps are whole numbers, with one character between two. */
  readonly gaps: number;
  /** Where the quotation mark of the first member's text stands. There is one character between two. */
  readonly texts: number;
}

const STRING = '"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"';
const HEAD = new RegExp(
  '^\\{"type":"(text|reasoning|tool-call)-chunks","seq0":(\\d+),"time0":(\\d+),"data":' +
    '\\{"turn":(\\d+),"step":(\\d+),"index":(\\d+),"dt":\\[[-\\d,]*\\],' +
    `(?:"texts"|"id":(${STRING}),(?:"name":(${STRING}),)?"args"):\\[`,
);
/** Behind a backslash and `u`: a control character that has no shorter escape, as `JSON.stringify` writes it. */
const CONTROL = /00(?:0[0-7bef]|1[\da-f])/y;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SLASH = 0x2f;
const LETTER_U = 0x75;
const END = "]}}";

/** The run in a record that was checked before; written again first, where its own text is in another form. */
export function runText(record: SessionRecord): RunText {
  const { text } = record;
  const own = text.isWellFormed() ? readRun(text, false) : undefined;
  const run = own ?? readRun(encodeRun(recordRun(record)), true);
  if (run === undefined) throw new RangeError(`record ${record.seq} is no run`);
  return run;
}

/** `isOurs` says that all escapes in the text are those that `JSON.stringify` writes. */
function readRun(text: string, isOurs: boolean): RunText | undefined {
  const head = HEAD.exec(text);
  if (head === null) return undefined;
  const [all, kind = "", seq0, time0, turn, step, index, id, name] = head;
  if (!endsWithTexts(text, all.length, isOurs)) return undefined;
  const place = { turn: Number(turn), step: Number(step), index: Number(index) };
  const beforeText =
    kind === "text" || kind === "reasoning"
      ? memberPrefix({ kind: `${kind}-delta`, ...place })
      : memberPrefix({
          kind: "tool-call-delta",
          ...place,
          id: String(JSON.parse(id ?? '""')),
          ...(name === undefined ? {} : { name: String(JSON.parse(name)) }),
        });
  const gaps = text.indexOf("[") + 1;
  return { text, seq0: Number(seq0), time0: Number(time0), beforeText, gaps, texts: all.length };
}

/** Whether a text holds nothing from `at` on but the strings of one list, without spaces, and the end of a run. */
function endsWithTexts(text: string, at: number, isOurs: boolean): boolean {
  const last = text.length - END.length;
  if (!text.endsWith(END)) return false;
  for (let next = at; text.charCodeAt(next) === QUOTE; next += 1) {
    next += 1;
    for (let unit = text.charCodeAt(next); unit !== QUOTE; unit = text.charCodeAt(next)) {
      if (unit === BACKSLASH) {
        next += 1;
        if (!isOurs && !isUsual(text, next)) return false;
      }
      next += 1;
    }
    next += 1;
    if (next === last) return true;
    if (text.charCodeAt(next) !== COMMA) return false;
  }
  return false;
}

/** Whether an escape, whose letter stands at `at`, is one that `JSON.stringify` writes; of half a pair it is not known. */
function isUsual(text: string, at: number): boolean {
  const letter = text.charCodeAt(at);
  if (letter !== LETTER_U) return letter !== SLASH;
  CONTROL.lastIndex = at + 1;
  return CONTROL.test(text);
}
