/** An answer to `GET /api/v1/sessions/{id}` taken apart, its texts byte for byte. */
export interface SessionRead {
  readonly headerText: string;
  readonly nextSeq: number;
  /** From the first event on: events, then whatever follows them. */
  readonly region: string;
  /** Whether all of it came; a Host that is killed leaves the beginning. */
  readonly whole: boolean;
}

const HEAD = /^\{"sessionId":"default","header":(\{.*?\}),"nextSeq":(\d+),"usage":\{[^}]*\},"events":\[/;
const TRANSCRIPT = '],"transcript":[';

/** Reads the session of a Host; nothing when not even its header came. @throws Error when the Host answers with a problem */
export async function readSession(url: string): Promise<SessionRead | undefined> {
  const parts: Uint8Array[] = [];
  let whole = false;
  let status = 200;
  try {
    const response = await fetch(`${url}/api/v1/sessions/default`);
    ({ status } = response);
    for await (const bytes of response.body ?? []) parts.push(bytes);
    whole = true;
  } catch {
    // What was received before counts.
  }
  // Cut off within a character is no fault, but anything else that is not UTF-8 is.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
  const text = decoder.decode(Buffer.concat(parts), { stream: !whole });
  if (status !== 200) throw new Error(`the session cannot be read: ${status} ${text}`);
  const head = HEAD.exec(text);
  if (whole && head === null) throw new Error(`the session reads as ${text.slice(0, 200)}`);
  const [all = "", headerText = "", nextSeq = ""] = head ?? [];
  if (head === null) return undefined;
  return { headerText, nextSeq: Number(nextSeq), region: text.slice(all.length), whole };
}

/** The whole JSON objects of a list that begins at `at`, and where they end. */
export function splitObjects(text: string, at = 0): { readonly texts: string[]; readonly end: number } {
  const texts: string[] = [];
  let depth = 0;
  let start = at;
  let end = at;
  for (let k = at; k < text.length; k += 1) {
    const char = text.charCodeAt(k);
    if (char === QUOTE) k = endOfString(text, k);
    else if (char === OPEN) {
      if (depth === 0) start = k;
      depth += 1;
    } else if (char === CLOSE) {
      depth -= 1;
      if (depth > 0) continue;
      end = k + 1;
      texts.push(text.slice(start, end));
    } else if (depth === 0 && char !== COMMA) break;
  }
  return { texts, end };
}

/** The text of the transcript in what follows the events; nothing where it did not come whole. */
export function transcriptIn(rest: string): string | undefined {
  return rest.startsWith(TRANSCRIPT) && rest.endsWith("]}") ? rest.slice(TRANSCRIPT.length, -2) : undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Index of the quote that ends the string which begins at `at`; the end of the text where none does. */
function endOfString(text: string, at: number): number {
  for (let k = at + 1; k < text.length; k += 1) {
    const char = text.charCodeAt(k);
    if (char === BACKSLASH) k += 1;
    else if (char === QUOTE) return k;
  }
  return text.length;
}
