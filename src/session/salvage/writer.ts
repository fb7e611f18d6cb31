import { encodeDraft, packBatch } from "../encoding.ts";
import { CorruptError } from "../errors.ts";
import { type EventDraft, isEvent, isMessageType, type SessionEvent, type SurfaceOp } from "../events.ts";
import { OpenWork } from "../projections/open-work.ts";
import { Surface } from "../projections/surface.ts";
import { type DecodedRecord, decodeRecord, recordEvents, type SessionRecord } from "../records.ts";
import { closeTurn, interruptedAnswer } from "../recovery.ts";
import { isRunType } from "../runs.ts";
import { Numbering } from "./numbering.ts";
import { withMembers } from "./text.ts";

/** Why an event is kept beside the history instead of in it. */
export type AsideReason =
  /** Another event has its seq. */
  | "branch"
  /** Later events stand before it. */
  | "order"
  /** Its Turn or Step was not open, and could not be. */
  | "turn"
  /** No message asks for this call, or the call was answered. */
  | "call"
  /** It replaces messages that are not all there. */
  | "surface"
  /** Nobody here knows its type, and it is not ignorable. */
  | "unknown-type"
  /** Texts of it that stood in other events are lost with those, and are empty. */
  | "part";

/**
 * Writes the new log: gives events their new seqs, and adds what closes Steps and Turns. Whether an event fits into the
 * Turn that is open is for others to know; whether a message fits the surface is looked at here.
 */
export class SalvageWriter {
  readonly #work = new OpenWork();
  readonly #surface = new Surface();
  readonly #numbering = new Numbering();
  /** Messages that this salvage made. */
  readonly #made = new Set<number>();
  /** For each call that waits for its result, the seq of the message that asks for it. */
  readonly #asked = new Map<string, number>();
  #out: SessionRecord[] = [];
  #next = 0;
  #isPristine = true;
  #added = 0;

  get work(): OpenWork {
    return this.#work;
  }

  /** Seq that comes next in the new log. */
  get next(): number {
    return this.#next;
  }

  /** Whether nothing but events of the old log was written, each with its old seq. */
  get isPristine(): boolean {
    return this.#isPristine;
  }

  /** Events that were made up to begin and end Turns and Steps, and to answer calls. */
  get added(): number {
    return this.#added;
  }

  /** What was written since the last call. */
  flush(): SessionRecord[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Takes an event over. Returns false, and writes nothing, where it is a message that does not fit the surface. */
  take(decoded: DecodedRecord): boolean {
    const { record } = decoded;
    const now = this.#next;
    const event = this.#isPristine ? decoded.event : wholeEvent(decoded);
    if (event === undefined) {
      this.#push(moved(record, now));
      this.#work.pass(this.#out.at(-1) ?? record);
    } else {
      const placed = this.#place(event);
      if (placed === undefined) return false;
      this.#push(withEnvelope(record, event, placed));
      this.#fold(placed);
    }
    this.#numbering.add(record.seq, now, record.count);
    return true;
  }

  /** A note of this salvage itself; readers that do not know it skip it. */
  note(type: "salvage/gap" | "salvage/end", data: object, time: number): void {
    this.#write({ type, data, ignorable: true }, time);
  }

  /** Keeps a record whole, beside the history. */
  aside(record: SessionRecord, reason: AsideReason): void {
    this.#isPristine = false;
    const head = `{"type":"salvage/event","seq":${this.#next},"time":${record.time},"data":{"reason":"${reason}",`;
    const text = `${head}"record":${record.text}},"ignorable":true}`;
    try {
      this.#push(decodeRecord(text, {}).record);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      // Nested so deep that it cannot be nested deeper.
      this.#push(decodeRecord(`${head}"text":${JSON.stringify(record.text)}},"ignorable":true}`, {}).record);
    }
  }

  /** An event that begins a Turn or a Step whose own one is lost. */
  begin(draft: EventDraft, time: number): void {
    this.#added += 1;
    this.#write(draft, time);
  }

  /** Answers the calls of the open Step that have no result, as recovery does. */
  answerCalls(): void {
    this.#close((drafts) => drafts.filter(({ type }) => type === "tool/result"));
  }

  /** Ends the open Step, if there is one. */
  closeStep(): void {
    this.#close((drafts) => drafts.filter(({ type }) => type !== "turn/end"));
  }

  /** Ends the open Turn, if there is one, as recovery does. */
  closeTurn(): void {
    this.#close((drafts) => drafts);
  }

  #close(choose: (drafts: EventDraft[]) => EventDraft[]): void {
    const next = this.#next;
    const drafts = closeTurn(this.#work, { kind: "interrupted" }, (call, position) =>
      interruptedAnswer(call, `interrupted-tool-result-${call.callId}-${next + position}`),
    );
    const time = this.#work.lastTime;
    for (const draft of choose(drafts)) {
      if (draft.type === "tool/result") this.#made.add(this.#next);
      this.#added += 1;
      this.#write(draft, time);
    }
  }

  #write(draft: EventDraft, time: number): void {
    this.#isPristine = false;
    const encoded = encodeDraft(draft, this.#next, time);
    for (const record of packBatch([encoded])) this.#push(record);
    this.#fold(encoded.event);
  }

  #push(record: SessionRecord): void {
    this.#out.push(record);
    this.#next += record.count;
  }

  #fold(event: SessionEvent): void {
    this.#surface.fold(event);
    this.#work.fold(event);
    if (isEvent(event, "assistant/message") && event.surfaceOp === "append") {
      for (const block of event.data.message.content) {
        if (block.type === "tool-call") this.#asked.set(block.id, event.seq);
      }
    }
    if (isEvent(event, "tool/result")) this.#asked.delete(event.data.message.source.callId);
    if (isEvent(event, "step/end") || isEvent(event, "turn/end")) this.#asked.clear();
  }

  /** The event with the seqs of the new log; nothing where its message does not fit the surface. */
  #place(event: SessionEvent): SessionEvent | undefined {
    const { surfaceOp, sourceEventSeqs } = event;
    if (this.#isPristine && event.seq === this.#next) return this.#fits(event) ? event : undefined;
    const { surfaceOp: _op, sourceEventSeqs: _sources, ...rest } = event;
    const sources = this.#numbering.findAll(sourceEventSeqs ?? []);
    const moved = { ...rest, seq: this.#next };
    if (surfaceOp !== undefined && surfaceOp !== "append") {
      const replacement = this.#replacement(event, sources);
      const placed = replacement === undefined ? undefined : { ...moved, ...replacement };
      return placed !== undefined && this.#fits(placed) ? placed : undefined;
    }
    return {
      ...moved,
      ...(sources.length === 0 && (sourceEventSeqs?.length ?? 1) > 0 ? {} : { sourceEventSeqs: sources }),
      ...(surfaceOp === undefined ? {} : { surfaceOp }),
    };
  }

  #fits(event: SessionEvent): boolean {
    const { surfaceOp } = event;
    if (surfaceOp === undefined || surfaceOp === "append") return true;
    if (this.#surface.findFault(event) !== undefined) return false;
    if (this.#isPristine) return true;
    if (this.#surface.findSplitPair(event) !== undefined) return false;
    // A call that waits for its result must not be taken from before it.
    const waiting = new Set(this.#work.calls.map(({ callId }) => this.#asked.get(callId)));
    return !(event.sourceEventSeqs ?? []).some((seq) => waiting.has(seq));
  }

  /**
   * What a replacement covers in the new log: all that is left of what it covered, and the answers that were made up
   * for calls among it. Where nothing at all is left on the surface, it is the first message there.
   */
  #replacement(
    { type, surfaceOp }: SessionEvent,
    sources: readonly number[],
  ): { readonly sourceEventSeqs?: readonly number[]; readonly surfaceOp: SurfaceOp } | undefined {
    if (surfaceOp === undefined || surfaceOp === "append") return undefined;
    const shown = this.#surface.seqs;
    if (shown.length === 0 && type === "user/message") return { surfaceOp: "append" };
    const [start, end] = [surfaceOp.start, surfaceOp.end].map((seq) => this.#numbering.find(seq));
    const cited = new Set(sources);
    const from = shown.findIndex((seq) => (start === undefined ? cited.has(seq) : seq === start));
    let to = shown.findLastIndex((seq) => (end === undefined ? cited.has(seq) : seq === end));
    if (from < 0 || to < from) return undefined;
    if (type !== "tool/result") while (this.#made.has(shown[to + 1] ?? -1)) to += 1;
    const made = shown.slice(from, to + 1).filter((seq) => this.#made.has(seq) && !cited.has(seq));
    return {
      sourceEventSeqs: [...sources, ...made].sort((a, b) => a - b),
      surfaceOp: { op: "replace", start: shown[from] ?? 0, end: shown[to] ?? 0 },
    };
  }
}

/** The event with its sources: a backend may leave them out of it where no projection looks at them, but not out of the text. */
function wholeEvent({ record, event }: DecodedRecord): SessionEvent | undefined {
  return event !== undefined && isMessageType(event.type) ? recordEvents(record)[0] : event;
}

/** A record of deltas with another seq. */
function moved(record: SessionRecord, seq: number): SessionRecord {
  if (record.seq === seq) return record;
  const key = isRunType(record.type) ? "seq0" : "seq";
  return { ...record, seq, text: withMembers(record.text, { [key]: String(seq) }) };
}

/** The record of `event` with the envelope of `placed`; its text stays as it is where they are the same. */
function withEnvelope(record: SessionRecord, event: SessionEvent, placed: SessionEvent): SessionRecord {
  if (event === placed) return record;
  const changes = {
    seq: String(placed.seq),
    ...(event.sourceEventSeqs === undefined ? {} : { sourceEventSeqs: jsonOf(placed.sourceEventSeqs) }),
    ...(event.surfaceOp === undefined ? {} : { surfaceOp: jsonOf(placed.surfaceOp) }),
  };
  return { ...record, seq: placed.seq, text: withMembers(record.text, changes) };
}

function jsonOf(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
