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

interface DeltaRecord {
  readonly data: {
    readonly texts?: readonly string[];
    readonly args?: readonly string[];
    readonly chunk?: { readonly text?: string; readonly argumentsDelta?: string };
  };
}

/** What a record of deltas adds to its block. It must have been checked when it was read or written. */
export function deltaText({ text }: RecordText): string {
  const { data }: DeltaRecord = JSON.parse(text);
  const { texts = data.args, chunk } = data;
  return texts === undefined ? (chunk?.text ?? chunk?.argumentsDelta ?? "") : texts.join("");
}

/** A string as it stands between the quotes of a JSON text. */
export function inQuotes(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
