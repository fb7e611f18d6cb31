import { GivenPattern } from "./given-pattern.ts";
import { mapStrings, type StringPlace } from "./json-strings.ts";
import { isSecretMember, secretsIn } from "./patterns.ts";
import { packedTexts, viewsOf } from "./views.ts";
import { isFormatName, isFormatWord } from "./vocabulary.ts";

/** What stands in the place of a secret. */
export const MASK = "[redacted]";

/** Part of a text, from the first unit to the one behind the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Members that name something which is named again elsewhere: two of them must not become one. */
const NAMING = new Set(["id", "callId", "toolCallId", "messageId", "parentSession", "childSession"]);

/**
 * Masks what looks like a secret, and what given patterns find, in texts and in whole JSON texts. The same input gives
 * the same output. Numbers, and the words of the format itself, stay.
 */
export class Redactor {
  readonly #given: readonly GivenPattern[];
  readonly #names = new Map<string, string>();
  #masked = 0;

  /** @throws UsageError where a pattern is no regular expression, or one that takes too long */
  constructor(patterns: readonly string[]) {
    this.#given = patterns.map((source) => new GivenPattern(source));
  }

  /** Places masked so far. */
  get masked(): number {
    return this.#masked;
  }

  /** Where the secrets of a text stand, in order and apart from each other, also escaped and packed ones. */
  find(text: string): Span[] {
    const found = this.#found(text);
    for (const view of viewsOf(text)) {
      for (const { start, end } of this.#found(view.text))
        found.push({ start: view.at(start), end: view.at(end) });
    }
    for (const { start, end, text: unpacked } of packedTexts(text)) {
      if (this.#found(unpacked).length > 0) found.push({ start, end });
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

  /** A JSON text of the same shape. What is not masked stays as it is, to the byte. */
  json(text: string): string {
    return mapStrings(text, (value, place) => this.string(value, place));
  }

  /** What stands for a string of a JSON text. */
  string(value: string, { names, isName }: StringPlace): string {
    if (isName) return isFormatName(value) ? value : this.#name(value);
    const name = names.at(-1) ?? "";
    // The type of an event, also of one that nobody here knows, is what it is.
    if (isFormatWord(name, value) || (names.length === 1 && name === "type")) return value;
    if (NAMING.has(name)) return this.#name(value);
    if (value === "" || value === MASK || !isSecretMember(name, value)) return this.text(value);
    this.count(1);
    return MASK;
  }

  /** To be told what was masked by {@link find}. */
  count(places: number): void {
    this.#masked += places;
  }

  #found(text: string): Span[] {
    const found: Span[] = this.#given.flatMap((pattern) => pattern.find(text));
    for (const span of secretsIn(text)) {
      // What was masked before, or names another secret of which the rest stays.
      if (text.slice(span.start, span.end) !== MASK) found.push(span);
    }
    return found;
  }

  /** What names something keeps apart: equal names become equal ones, and others become others. */
  #name(text: string): string {
    const known = this.#names.get(text);
    const spans = known === undefined ? this.find(text) : [];
    if (known === undefined && spans.length === 0) return text;
    this.count(1);
    if (known !== undefined) return known;
    const made = `${masked(text, spans)}-${this.#names.size + 1}`;
    this.#names.set(text, made);
    return made;
  }
}

/** Spans in order; those that overlap or touch as one. */
export function joined(spans: readonly Span[]): Span[] {
  const apart: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = apart.at(-1);
    if (last === undefined || span.start > last.end) apart.push(span);
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
