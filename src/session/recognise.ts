/*
 * Nine tenths of a long session are records of streaming deltas, in exactly the form that this program and dsh write.
 * One native match tells that such a text is sound, in a quarter of the time that parsing and checking it takes. The
 * patterns are strict: whatever they do not match, sound or not, goes the long way.
 */

const NATURAL = "(?:0|[1-9]\\d{0,14})";
const GAP = "(?:0|[1-9]\\d{0,9})";
/** A JSON string, without a choice that could be tried twice: a failing match stays linear. */
const STRING = '"[^"\\\\\\x00-\\x1f]*(?:\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\\\\x00-\\x1f]*)*"';
const FILLED_STRING = `(?!"")${STRING}`;
const PLACE = `"turn":${NATURAL},"step":${NATURAL}`;
const CALL = `"id":${FILLED_STRING}(?:,"name":${STRING})?`;
const list = (item: string) => `${item}(?:,${item})*`;

const runOf = (kind: string, members: string) =>
  new RegExp(
    `^\\{"type":"(${kind})-chunks","seq0":(${NATURAL}),"time0":(${NATURAL}),"data":\\{${PLACE},"index":${NATURAL},` +
      `"dt":\\[(${list(GAP)})?\\],${members}:\\[(${list(STRING)})\\]\\}\\}$`,
  );

const TEXT_RUN = runOf("text|reasoning", '"texts"');
const CALL_RUN = runOf("tool-call", `${CALL},"args"`);

const DELTA = new RegExp(
  `^\\{"type":"assistant/chunk","seq":(${NATURAL}),"time":(${NATURAL}),"data":\\{${PLACE},"chunk":\\{(?:` +
    `"type":"(?:text|reasoning)-delta","index":${NATURAL},"text":${STRING}|` +
    `"type":"tool-call-delta","index":${NATURAL},${CALL},"argumentsDelta":${STRING}|` +
    `"type":"block-start","index":${NATURAL},"blockType":${STRING}` +
    `)\\}\\}\\}$`,
);

/** Longer texts are not worth the match's own bookkeeping. */
const LONGEST = 64 * 1024;

const TYPE_AT = '{"type":"'.length;

/** What {@link recognise} reads off a text. */
export interface Recognised {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
}

/** The span of a record that holds only deltas or the start of a block, if its text is in the exact form. */
export function recognise(text: string): Recognised | undefined {
  if (text.length > LONGEST) return undefined;
  if (!text.startsWith('{"type":"')) return undefined;
  if (text.startsWith("assistant/chunk", TYPE_AT)) {
    const match = DELTA.exec(text);
    if (match === null) return undefined;
    return { seq: Number(match[1]), count: 1, type: "assistant/chunk", time: Number(match[2]) };
  }
  const pattern = text.startsWith("tool-call-chunks", TYPE_AT) ? CALL_RUN : TEXT_RUN;
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, kind, seq0, time0, gaps, members = ""] = match;
  // A quote that is escaped before a comma would count as the end of a string.
  if (members.includes('\\","')) return undefined;
  const count = members.split('","').length;
  if (count !== (gaps === undefined ? 1 : gaps.split(",").length + 1)) return undefined;
  return { seq: Number(seq0), count, type: `${kind}-chunks`, time: Number(time0) };
}
