/*
 * After packed runs, most records of a long session are single chunks that no projection looks into: deltas that found
 * no company, and the starts of blocks. One native match tells that such a text is in exactly the form that this program
 * and dsh write, which is quicker than parsing and checking it. Whatever does not match, sound or not, goes the long way.
 */

const NATURAL = "(?:0|[1-9]\\d{0,14})";
/** A JSON string, without a choice that could be tried twice: a failing match stays linear. */
const STRING = '"[^"\\\\\\x00-\\x1f]*(?:\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\\\\x00-\\x1f]*)*"';
const PLAIN_STRING = '"[^"\\\\\\x00-\\x1f]+"';

const PREFIX = '{"type":"assistant/chunk","seq":';
const CHUNK = new RegExp(
  `^${PREFIX.replace("{", "\\{")}(${NATURAL}),"time":(${NATURAL}),` +
    `"data":\\{"turn":${NATURAL},"step":${NATURAL},"chunk":\\{(?:` +
    `"type":"(?:text|reasoning)-delta","index":${NATURAL},"text":${STRING}|` +
    `"type":"tool-call-delta","index":${NATURAL},"id":${PLAIN_STRING}(?:,"name":${STRING})?,"argumentsDelta":${STRING}|` +
    `"type":"block-start","index":${NATURAL},"blockType":${STRING}` +
    `)\\}\\}\\}$`,
);

/** Longer texts are not worth the match's own bookkeeping. */
const LONGEST = 64 * 1024;

/** Seq and time of a chunk whose text is in the exact form. */
export function recogniseChunk(text: string): { readonly seq: number; readonly time: number } | undefined {
  if (text.length > LONGEST || !text.startsWith(PREFIX)) return undefined;
  const match = CHUNK.exec(text);
  return match === null ? undefined : { seq: Number(match[1]), time: Number(match[2]) };
}

/** Whether a text that {@link recogniseChunk} knows is of this Step: its keys stand nowhere else in it unescaped. */
export function isChunkOf(text: string, turn: number | undefined, step: number | undefined): boolean {
  return text.includes(`,"data":{"turn":${turn},"step":${step},`);
}
