import type { Place } from "../errors.ts";
import { type DecodedRecord, decodeRecord } from "../records.ts";
import { isRunType } from "../runs.ts";

/*
 * Of ten records of a long session nine are deltas, which say nothing that does not stand in a message again. Whoever looks
 * for what was said needs of them only where they are, and reads several times as fast without more. In another form than
 * that which this program and dsh write they go the long way. What is wrong behind the beginning of such a record is not
 * seen here.
 */

/** What {@link SaidFinder} looks into. */
const READ: ReadonlySet<string> = new Set([
  "turn/start",
  "step/start",
  "tool/call",
  "user/message",
  "assistant/message",
  "tool/result",
]);

const NATURAL = "(0|[1-9]\\d{0,14})";
const EVENT = new RegExp(`^\\{"type":"([^"\\\\]{1,100})","seq":${NATURAL},"time":${NATURAL},"data":`);
const RUN = new RegExp(
  `^\\{"type":"((?:text|reasoning|tool-call)-chunks)","seq0":${NATURAL},"time0":${NATURAL},` +
    '"data":\\{"turn":\\d+,"step":\\d+,"index":\\d+,"dt":\\[([-\\d,]*)\\]',
);

/** As {@link decodeRecord}, without the event and the run of what says nothing. @throws CorruptError */
export function skimRecord(text: string, place: Place): DecodedRecord {
  const [, type = "", seq, time] = EVENT.exec(text) ?? [];
  if (seq !== undefined) {
    if (READ.has(type) || isRunType(type)) return decodeRecord(text, place);
    return { record: { seq: Number(seq), count: 1, type, time: Number(time), text }, unknownType: false };
  }
  const [, run, seq0, time0, gaps = ""] = RUN.exec(text) ?? [];
  if (run === undefined) return decodeRecord(text, place);
  const record = { seq: Number(seq0), count: membersOf(gaps), type: run, time: Number(time0), text };
  return { record, unknownType: false };
}

/** Members of a run: one more than there are gaps between them. */
function membersOf(gaps: string): number {
  if (gaps === "") return 1;
  let count = 2;
  for (let at = gaps.indexOf(","); at >= 0; at = gaps.indexOf(",", at + 1)) count += 1;
  return count;
}
