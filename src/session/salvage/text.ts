/*
 * How an event gets another place in another log: the members of its envelope get other values, and everything else of
 * its text stays as it was stored, byte for byte.
 */

/** One member of an object, as positions in its text. */
interface Member {
  readonly key: string;
  /** Where its key begins. */
  readonly from: number;
  /** Where its value begins and ends. */
  readonly value: number;
  readonly to: number;
}

/**
 * The text of a JSON object with other values for some of its own members; those that it does not have stay away.
 * @param changes JSON texts by key; `undefined` takes the member away
 */
export function withMembers(text: string, changes: Readonly<Record<string, string | undefined>>): string {
  const members = [...membersOf(text)];
  let out = text.slice(0, members[0]?.from);
  let isFirst = true;
  for (const [k, { key, from, value, to }] of members.entries()) {
    const isChanged = Object.hasOwn(changes, key);
    const changed = changes[key];
    if (isChanged && changed === undefined) continue;
    if (!isFirst) out += text.slice(members[k - 1]?.to, from);
    isFirst = false;
    out += text.slice(from, value) + (isChanged ? changed : text.slice(value, to));
  }
  return members.length === 0 ? text : out + text.slice(members.at(-1)?.to);
}

function* membersOf(text: string): Generator<Member> {
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text[at] === '"') {
    const from = at;
    const end = stringEnd(text, from);
    const value = skipSpace(text, skipSpace(text, end) + 1);
    const to = valueEnd(text, value);
    const key: unknown = JSON.parse(text.slice(from, end));
    yield { key: String(key), from, value, to };
    const comma = skipSpace(text, to);
    if (text[comma] !== ",") return;
    at = skipSpace(text, comma + 1);
  }
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (/^[ \t\n\r]$/.test(text[next] ?? "")) next += 1;
  return next;
}

/** Position behind the string that begins at `from`. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Position behind the value that begins at `from`. */
function valueEnd(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return stringEnd(text, from);
  const mark = first === "{" || first === "[" ? /["{}[\]]/g : /[,\]}\s]/g;
  let depth = 0;
  mark.lastIndex = from;
  for (;;) {
    const found = mark.exec(text);
    if (found === null) return text.length;
    const [character] = found;
    if (first !== "{" && first !== "[") return found.index;
    if (character === '"') mark.lastIndex = stringEnd(text, found.index);
    else depth += character === "{" || character === "[" ? 1 : -1;
    if (depth === 0) return found.index + 1;
  }
}
