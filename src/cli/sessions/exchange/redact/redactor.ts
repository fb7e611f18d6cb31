import { CleanTexts } from "./clean-texts.ts";
import { GivenPattern } from "./given-pattern.ts";
import { mapStrings, type StringPlace } from "./json-strings.ts";
import type { KnownSecrets } from "./known-secrets.ts";
import { MASK, type Span } from "./mask.ts";
import { isSecretMember, secretsIn } from "./patterns.ts";
import type { SecretKind } from "./secret-forms.ts";
import { packedTexts, viewsOf } from "./views.ts";
import { isFormatName, isFormatWord } from "./vocabulary.ts";

export { MASK, type Span };

/** Members that name something which is named again elsewhere: two of them must not become one. */
const NAMING = new Set(["id", "callId", "toolCallId", "messageId", "parentSession", "childSession"]);

/**
 * Masks what looks like a secret, and what given patterns find, in texts and in whole JSON texts. The same input gives
 * the same output. Numbers, and the words of the format itself, stay.
 */
export class Redactor {
  readonly #given: readonly GivenPattern[];
  readonly #learnt: KnownSecrets | undefined;
  readonly #names = new Map<string, string>();
  #known: KnownSecrets | undefined;
  readonly #clean = new CleanTexts();
  /** Whether a search found nothing in the texts that are looked at now, so that only known secrets can be in them. */
  #isSearched = false;
  #masked = 0;

  /**
   * @param learnt is given all secrets that are found
   * @throws UsageError where a pattern is no regular expression, or one that takes too long
   */
  constructor(patterns: readonly (string | GivenPattern)[], learnt?: KnownSecrets) {
    this.#given = patterns.map((given) => (typeof given === "string" ? new GivenPattern(given) : given));
    this.#learnt = learnt;
  }

  /** One that finds the same, and what it finds is noted. */
  learning(learnt: KnownSecrets): Redactor {
    return new Redactor(this.#given, learnt);
  }

  /** From here on these are masked as well, wherever they stand. */
  know(secrets: KnownSecrets | undefined): void {
    this.#known = secrets;
    this.#clean.clear();
  }

  /** Places masked so far. */
  get masked(): number {
    return this.#masked;
  }

  /**
   * What is made of the texts of one record, or of those that begin with it. What was learnt in the same texts is noted,
   * so that they are not searched twice where nothing was found.
   */
  at<T>(seq: number, make: () => T, hasFound: (made: T) => boolean): T {
    this.#isSearched = this.#known?.isClean(seq) === true;
    try {
      const made = make();
      if (hasFound(made)) this.#learnt?.noteFind(seq);
      return made;
    } finally {
      this.#isSearched = false;
    }
  }

  /** Where the secrets of a text stand, in order and apart from each other, also escaped and packed ones. */
  find(text: string): Span[] {
    if (this.#isIdle || (!this.#isSearched && this.#clean.has(text))) return [];
    const found = this.#found(text);
    for (const view of viewsOf(text)) {
      for (const { start, end } of this.#found(view.text))
        found.push({ start: view.at(start), end: view.at(end) });
    }
    for (const { start, end, text: unpacked } of packedTexts(text)) {
      if (this.#found(unpacked).length > 0) found.push({ start, end });
    }
    if (found.length === 0 && !this.#isSearched) this.#clean.add(text);
    return joined(found);
  }

  /** Whether nothing can be found in the texts that are looked at now. */
  get #isIdle(): boolean {
    return this.#isSearched && this.#known?.isEmpty === true;
  }

  /** What is made with masks for a place that says again what stands elsewhere: it is not counted. */
  quietly<T>(make: () => T): T {
    const before = this.#masked;
    const result = make();
    this.#masked = before;
    return result;
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
    if (this.#isIdle && this.#names.size === 0) return text;
    return mapStrings(text, (value, place) => this.string(value, place));
  }

  /** What stands for a string of a JSON text. */
  string(value: string, { names, isName }: StringPlace): string {
    if (isName) return isFormatName(value) ? value : this.#name(value);
    const name = names.at(-1) ?? "";
    // The type of an event, also of one that nobody here knows, is what it is.
    if (isFormatWord(name, value) || (names.length === 1 && name === "type")) return value;
    if (NAMING.has(name)) return this.#name(value);
    if (this.#isSearched || value === "" || value === MASK || !isSecretMember(name, value))
      return this.text(value);
    this.#learnt?.add(value, "quoted");
    this.count(1);
    return MASK;
  }

  /** To be told what was masked by {@link find}. */
  count(places: number): void {
    this.#masked += places;
  }

  #found(text: string): Span[] {
    if (this.#isSearched) return [...(this.#known?.find(text) ?? [])];
    const found: (Span & { readonly kind?: SecretKind })[] = this.#given.flatMap((pattern) =>
      pattern.find(text),
    );
    for (const span of secretsIn(text)) {
      // What was masked before, or names another secret of which the rest stays.
      if (text.slice(span.start, span.end) !== MASK) found.push(span);
    }
    for (const { start, end, kind = "quoted" } of this.#learnt === undefined ? [] : found)
      this.#learnt?.add(text.slice(start, end), kind);
    if (this.#known !== undefined) found.push(...this.#known.find(text));
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
