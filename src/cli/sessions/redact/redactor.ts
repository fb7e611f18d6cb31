import { UsageError } from "../../../host/usage.ts";
import { ISSUED_PATTERN, SECRET_NAME, TOLD_PATTERNS } from "./patterns.ts";

/** What stands in the place of a secret. */
export const MASK = "[redacted]";

/** Part of a text, from the first unit to the one behind the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Members whose texts are the vocabulary of the format: without them an event would not be the same kind of event. */
const STRUCTURE = new Set(["type", "role", "kind", "blockType", "surfaceOp", "op", "reason"]);
const WORD = /^[a-z]+(?:[-/][a-z]+)*$/;
/** Members that name something which is named again elsewhere: two of them must not become one. */
const NAMING = new Set(["id", "callId", "toolCallId", "messageId", "parentSession", "childSession"]);
/** Names of members as the format has them; others may be data themselves. */
const FORMAT_KEY = /^[A-Za-z][A-Za-z]{0,31}$/;

/**
 * Masks what looks like a secret, and what given patterns find, in texts and in whole JSON values. The same input gives
 * the same output. Numbers, and the words of the format itself, stay.
 */
export class Redactor {
  readonly #given: readonly RegExp[];
  readonly #names = new Map<string, string>();
  #masked = 0;

  /** @throws UsageError where a pattern is no regular expression */
  constructor(patterns: readonly string[]) {
    this.#given = patterns.map(toPattern);
  }

  /** Places masked so far. */
  get masked(): number {
    return this.#masked;
  }

  /** Where the secrets of a text stand, in order and apart from each other. */
  find(text: string): Span[] {
    const found: Span[] = [];
    for (const pattern of [ISSUED_PATTERN, ...this.#given]) {
      for (const match of text.matchAll(pattern)) {
        if (match[0] !== "") found.push({ start: match.index, end: match.index + match[0].length });
      }
    }
    for (const pattern of TOLD_PATTERNS) {
      for (const match of text.matchAll(pattern)) {
        const [whole, before = ""] = match;
        const start = match.index + before.length;
        const end = match.index + whole.length;
        // What was masked before, or names another secret of which the rest stays.
        if (text.slice(start, end) !== MASK) found.push({ start, end });
      }
    }
    return joined(found);
  }

  /** A text with its secrets masked. */
  text(text: string): string {
    const spans = this.find(text);
    if (spans.length === 0) return text;
    this.count(spans.length);
    return masked(text, spans);
  }

  /** A JSON value of the same shape. The value itself where nothing of it is masked. */
  value(value: unknown, key?: string): unknown {
    if (typeof value === "string") return this.#member(value, key);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => this.value(item, key));
      return items.some((item, k) => item !== value[k]) ? items : value;
    }
    let isChanged = false;
    const members = Object.entries(value).map(([name, member]): [string, unknown] => {
      const newName = FORMAT_KEY.test(name) ? name : this.#name(name);
      const newMember = this.value(member, name);
      isChanged ||= newName !== name || newMember !== member;
      return [newName, newMember];
    });
    return isChanged ? Object.fromEntries(members) : value;
  }

  /** To be told what was masked by {@link find}. */
  count(places: number): void {
    this.#masked += places;
  }

  #member(text: string, key: string | undefined): string {
    if (key === undefined) return this.text(text);
    if (STRUCTURE.has(key) && WORD.test(text)) return text;
    if (NAMING.has(key)) return this.#name(text);
    if (SECRET_NAME.test(key) && text !== "" && text !== MASK) {
      this.count(1);
      return MASK;
    }
    return this.text(text);
  }

  /** What names something keeps apart: equal names become equal ones, and others become others. */
  #name(text: string): string {
    const spans = this.find(text);
    if (spans.length === 0) return text;
    this.count(spans.length);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const made = `${masked(text, spans)}-${this.#names.size + 1}`;
    this.#names.set(text, made);
    return made;
  }
}

function toPattern(source: string): RegExp {
  try {
    return new RegExp(source, "gu");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `--redact-pattern ${JSON.stringify(source)} is no regular expression: ${reason}`,
      "Write one as JavaScript has them, without slashes around it, such as 'ACME-[0-9]+'.",
    );
  }
}

function joined(spans: readonly Span[]): Span[] {
  const apart: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = apart.at(-1);
    if (last === undefined || span.start >= last.end) apart.push(span);
    else apart[apart.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
  }
  return apart;
}

function masked(text: string, spans: readonly Span[]): string {
  let shown = "";
  let at = 0;
  for (const { start, end } of spans) {
    shown += text.slice(at, start) + MASK;
    at = end;
  }
  return shown + text.slice(at);
}
