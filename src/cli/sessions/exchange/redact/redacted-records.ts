import { recogniseChunk } from "../../../../session/recognise.ts";
import { recordRun, type SessionRecord } from "../../../../session/records.ts";
import { type DeltaRun, isRunType, memberTexts } from "../../../../session/runs.ts";
import { mapStrings } from "./json-strings.ts";
import { joined, MASK, type Redactor, type Span } from "./redactor.ts";

/** Streamed text that is held until its message is whole, in UTF-16 units. Beyond that the older half is let go. */
const MOST_HELD = 4 * 1024 * 1024;
/** What a delta has beside its piece, roughly. */
const AROUND = 120;
/** Of each text that was let go, so much of its end is remembered. */
const CONTEXT = 64 * 1024;
/** No more is streamed of a text behind these: another attempt begins anew. */
const ENDS = new Set(["llm/retry", "assistant/message", "step/start", "step/end", "turn/start", "turn/end"]);

/** A delta that is held: a piece of a text. */
interface Delta {
  readonly seq: number;
  readonly member: "text" | "argumentsDelta";
  /** Which text it is a piece of. */
  readonly stream: string;
  readonly text: string;
  /** Where the event has no text but this and words of the format, the other ones: of a call, its id and the tool's name. */
  readonly others?: Others;
}

interface Others {
  readonly id?: string;
  readonly name?: string;
}

/** What was let go of a text whose end has not come. */
interface Begun {
  /** Its last part. */
  readonly before: string;
  /** So much of what follows belongs to a secret of which the mask stands there already. */
  readonly covered: number;
}

/** A piece with its secrets masked. */
interface Shown {
  readonly text: string;
  /** Secrets that begin in it. */
  readonly begin: number;
}

interface Waiting {
  readonly record: SessionRecord;
  /** Of its text as it was, about, so that the same records are let go whatever is masked and however they are packed. */
  readonly length: number;
  readonly delta?: Delta;
}

/**
 * The events of a log, one a record, with their secrets masked. What an answer was streamed in is looked at as a whole:
 * a secret is spread over many deltas, and its mask stands in the one where it begins. So deltas, and what comes between
 * them, wait until their message is whole; their order stays.
 */
export class RedactedRecords {
  readonly #redactor: Redactor;
  readonly #most: number;
  #waiting: Waiting[] = [];
  #length = 0;
  #begun = new Map<string, Begun>();
  #plain: Others = {};

  /** @param most UTF-16 units that are held at most */
  constructor(redactor: Redactor, most = MOST_HELD) {
    this.#redactor = redactor;
    this.#most = most;
  }

  /**
   * Takes a record; returns what can be shown now.
   * @param run what it holds, where that was read before
   */
  *take(record: SessionRecord, run?: DeltaRun): Generator<SessionRecord> {
    if (isRunType(record.type)) {
      for (const member of membersOf(record, run ?? recordRun(record))) yield* this.#hold(member);
      return;
    }
    if (ENDS.has(record.type)) yield* this.end();
    const delta = record.type === "assistant/chunk" ? deltaOf(record) : undefined;
    if (delta !== undefined) yield* this.#hold({ record, length: delta.text.length + AROUND, delta });
    else if (this.#waiting.length === 0) yield this.#masked(record);
    else yield* this.#hold({ record: this.#masked(record), length: record.text.length });
  }

  *#hold(waiting: Waiting): Generator<SessionRecord> {
    this.#waiting.push(waiting);
    this.#length += waiting.length;
    if (this.#length > this.#most) yield* this.#letGo(this.#length / 2);
  }

  /** What waits, when no more deltas will come. */
  *end(): Generator<SessionRecord> {
    yield* this.#letGo(this.#length);
    this.#begun.clear();
  }

  /** Those that waited longest, of at least so many units. */
  *#letGo(length: number): Generator<SessionRecord> {
    let rest = length;
    let count = 0;
    for (; count < this.#waiting.length && rest > 0; count += 1) rest -= this.#waiting[count]?.length ?? 0;
    const shown = this.#maskedPieces(count);
    const gone = this.#waiting.splice(0, count);
    this.#length -= length - rest;
    for (const { record, delta } of gone)
      yield delta === undefined ? record : this.#maskedDelta(record, delta, shown.get(delta));
  }

  /** What stands in the place of each of the first `count` deltas. Remembers how the texts of these end. */
  #maskedPieces(count: number): Map<Delta, Shown> {
    const streams = new Map<string, { readonly pieces: Delta[]; gone: number }>();
    for (const [k, { delta }] of this.#waiting.entries()) {
      if (delta === undefined) continue;
      const known = streams.get(delta.stream) ?? { pieces: [], gone: 0 };
      known.pieces.push(delta);
      if (k < count) known.gone += 1;
      streams.set(delta.stream, known);
    }
    const shown = new Map<Delta, Shown>();
    for (const [stream, { pieces, gone }] of streams) {
      if (gone === 0) continue;
      const { before, covered } = this.#begun.get(stream) ?? { before: "", covered: 0 };
      const text = before + pieces.map((piece) => piece.text).join("");
      const rest = { start: before.length, end: before.length + covered };
      const found = this.#redactor.at(
        pieces[0]?.seq ?? 0,
        () => this.#redactor.find(text),
        (spans) => spans.length > 0,
      );
      const spans = joined(covered === 0 ? found : [rest, ...found]);
      // The mask of what is covered was shown before.
      const end = maskPieces(
        pieces.slice(0, gone),
        before.length,
        spans,
        covered === 0 ? -1 : before.length,
        shown,
      );
      const open = spans.find((span) => span.start < end && span.end > end);
      this.#begun.set(stream, {
        before: text.slice(Math.max(0, end - CONTEXT), end),
        covered: open === undefined ? 0 : open.end - end,
      });
    }
    return shown;
  }

  #masked(record: SessionRecord): SessionRecord {
    const text = this.#redactor.at(
      record.seq,
      () => this.#redactor.json(record.text),
      (made) => made !== record.text,
    );
    return text === record.text ? record : { ...record, text };
  }

  /** `shown` is what stands in the place of its text; nothing where that stays. */
  #maskedDelta(record: SessionRecord, delta: Delta, shown: Shown | undefined): SessionRecord {
    const { member, text, others } = delta;
    this.#redactor.count(shown?.begin ?? 0);
    // Most are such: nothing is taken apart for them.
    if (shown === undefined && others !== undefined && this.#isPlain(others)) return record;
    const masked = mapStrings(record.text, (value, place) => {
      const { names, isName } = place;
      const isPiece =
        !isName && names.length === 3 && names[0] === "data" && names[1] === "chunk" && names[2] === member;
      // The piece was looked at with the others of its text.
      return isPiece && value === text ? (shown?.text ?? text) : this.#redactor.string(value, place);
    });
    return masked === record.text
      ? record
      : { seq: record.seq, count: 1, type: record.type, time: record.time, text: masked };
  }

  /** Whether these stay as they are. */
  #isPlain({ id, name }: Others): boolean {
    if (id === this.#plain.id && name === this.#plain.name) return true;
    const stays = (text: string | undefined, member: string) => {
      const place = { names: ["data", "chunk", member], isName: false };
      return text === undefined || this.#redactor.quietly(() => this.#redactor.string(text, place)) === text;
    };
    const isPlain = stays(id, "id") && stays(name, "name");
    if (isPlain)
      this.#plain = { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) };
    return isPlain;
  }
}

/** A delta of a run. Its text as it would stand alone is made when it is asked for, with those of the others. */
class Member implements SessionRecord {
  readonly count = 1;
  readonly type = "assistant/chunk";
  readonly seq: number;
  readonly time: number;
  readonly #texts: () => readonly string[];
  readonly #index: number;

  constructor({ seq, time }: SessionRecord, texts: () => readonly string[], index: number) {
    this.seq = seq + index;
    this.time = time;
    this.#texts = texts;
    this.#index = index;
  }

  get text(): string {
    return this.#texts()[this.#index] ?? "";
  }
}

function* membersOf(record: SessionRecord, run: DeltaRun): Generator<Waiting> {
  const { kind, turn, step, index, id, name } = run;
  const stream = streamOf(turn, step, kind, index, id);
  const member = kind === "tool-call-delta" ? "argumentsDelta" : "text";
  const others = { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) };
  let made: readonly string[] | undefined;
  const texts = () => {
    made ??= memberTexts(run);
    return made;
  };
  for (const [k, text] of run.texts.entries()) {
    const delta = { seq: record.seq + k, member, stream, text, others } as const;
    yield { record: new Member(record, texts, k), length: text.length + AROUND, delta };
  }
}

/**
 * Masks the pieces of a text, of which the first begins at `from`.
 * @param shownBefore where a secret begins whose mask was shown before
 * @returns where the last one ends
 */
function maskPieces(
  pieces: readonly Delta[],
  from: number,
  spans: readonly Span[],
  shownBefore: number,
  shown: Map<Delta, Shown>,
): number {
  let next = 0;
  let at = from;
  for (const piece of pieces) {
    const end = at + piece.text.length;
    while ((spans[next]?.end ?? Number.POSITIVE_INFINITY) <= at) next += 1;
    let text = "";
    let begin = 0;
    let kept = at;
    for (let k = next; k < spans.length; k += 1) {
      const span = spans[k];
      if (span === undefined || span.start >= end) break;
      if (span.start >= at && span.start !== shownBefore) {
        text += piece.text.slice(kept - at, span.start - at) + MASK;
        begin += 1;
      }
      kept = Math.min(span.end, end);
    }
    if (kept > at || begin > 0) shown.set(piece, { text: text + piece.text.slice(kept - at), begin });
    at = end;
  }
  return at;
}

/** A delta that an event is; nothing where it is none. */
function deltaOf({ seq, text }: SessionRecord): Delta | undefined {
  const event: unknown = JSON.parse(text);
  const data = isRecord(event) ? event["data"] : undefined;
  const chunk = isRecord(data) ? data["chunk"] : undefined;
  if (!isRecord(data) || !isRecord(chunk)) return undefined;
  const { type, index, id, name } = chunk;
  const member = type === "tool-call-delta" ? "argumentsDelta" : "text";
  const piece = chunk[member];
  if (typeof piece !== "string") return undefined;
  const delta = {
    seq,
    member,
    stream: streamOf(data["turn"], data["step"], type, index, id),
    text: piece,
  } as const;
  if (recogniseChunk(text) === undefined) return delta;
  const others = {
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof name === "string" ? { name } : {}),
  };
  return { ...delta, others };
}

/** Which text the deltas are of that have these in common. */
function streamOf(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
