import type { SessionRecord } from "../../session/records.ts";

/* What the records of streaming deltas, runs and single ones, say of the block that they stream. */

type RecordText = Pick<SessionRecord, "type" | "text">;

const PLACE = '"data":\\{"turn":(\\d+),"step":(\\d+),';
const KIND = "(text|reasoning|tool-call)";
/** The exact forms that this program and dsh write. A delta in any other is quoted by nobody. */
const RUN = new RegExp(`^\\{"type":"${KIND}-chunks","seq0":\\d+,"time0":\\d+,${PLACE}"index":(\\d+),`);
const CHUNK_START = `^\\{"type":"assistant/chunk","seq":\\d+,"time":\\d+,${PLACE}"chunk":\\{`;
const SINGLE = new RegExp(`${CHUNK_START}"type":"${KIND}-delta","index":(\\d+),`);
const BLOCK_END = new RegExp(
  `${CHUNK_START}"type":"block-end","index":(\\d+),"block":\\{"type":"${KIND}"[,}]`,
);

/** Which block of which Step a record of deltas belongs to; equal for those of one block. */
export function blockOf({ type, text }: RecordText): string | undefined {
  if (type === "assistant/chunk") {
    const [, turn, step, kind, index] = SINGLE.exec(text) ?? [];
    return kind === undefined ? undefined : `${kind} ${turn} ${step} ${index}`;
  }
  const [, kind, turn, step, index] = RUN.exec(text) ?? [];
  return kind === undefined ? undefined : `${kind} ${turn} ${step} ${index}`;
}

/** Whether a record, an `assistant/chunk`, is the end of a block, and of which one. */
export function endedBlockOf(text: string): string | undefined {
  const [, turn, step, index, kind] = BLOCK_END.exec(text) ?? [];
  return kind === undefined ? undefined : `${kind} ${turn} ${step} ${index}`;
}

/** Where the strings of a record begin, and how a text in the exact form ends behind them. */
const STRINGS = [
  ['"texts":["', '"]}}'],
  ['"args":["', '"]}}'],
  ['"text":"', '"}}}'],
  ['"argumentsDelta":"', '"}}}'],
] as const;
const BETWEEN = /","/g;
/** An escaped quote, a comma, and the end of a string: it looks like what is between two of them. */
const LOOKALIKE = '\\","';
const ESCAPE_OR_BETWEEN = /(\\.)|","/g;
/** Half of a character may stand in one delta, and half in the next. */
const HALF = "\\ud";

/**
 * What a record of deltas adds to the text of its block: its strings, one after the other, as they stand in its text. To
 * take out what is between them is seven times as quick as to parse them.
 */
export function stringsOf({ text }: RecordText): string {
  for (const [start, end] of STRINGS) {
    const at = text.indexOf(start);
    if (at < 0 || !text.endsWith(end)) continue;
    const strings = text.slice(at + start.length, -end.length);
    return strings.includes(LOOKALIKE)
      ? strings.replace(ESCAPE_OR_BETWEEN, "$1")
      : strings.replace(BETWEEN, "");
  }
  return "";
}

/** The strings of a block's deltas, one after the other, as the string that they are together stands in JSON. */
export function toOneString(strings: string): string {
  if (!strings.includes(HALF)) return strings;
  try {
    return JSON.stringify(JSON.parse(`"${strings}"`)).slice(1, -1);
  } catch {
    return strings;
  }
}

/** Whether a text may stand between the quotes of a JSON string. */
export function isInString(text: string): boolean {
  try {
    return typeof JSON.parse(`"${text}"`) === "string";
  } catch {
    return false;
  }
}
