import { isEvent, type SessionEvent, type TurnEndReason } from "../../../session/events.ts";
import type { TranscriptEntry } from "../../../session/projections/index.ts";
import { givenTitle } from "../../../session/projections/outline.ts";
import { UsageProjection, type UsageTotals } from "../../../session/projections/usage.ts";
import type { LocalTimes } from "../../local-time.ts";
import { type Entry, EntryText, type Fullness } from "./entry-text.ts";
import type { HeadFacts } from "./session-head.ts";
import { describeEnd, formatDuration, howCutOff, modelText, retryOf, tokensText } from "./told.ts";
import type { TranscriptStyle } from "./transcript-style.ts";

/**
 * Makes a transcript for people of events, one after the other, and of the entries that they make. Memory follows one Turn,
 * not the log.
 */
export class TranscriptView {
  readonly #style: TranscriptStyle;
  readonly #times: LocalTimes;
  readonly #entries: EntryText;
  readonly #usage = new UsageProjection();
  /** When the calls of the Turn were made that have no result yet. */
  readonly #calls = new Map<string, number>();
  /** The Turn that the last heading is of, while it goes on. */
  #turn: number | undefined;
  /** The last Turn of which the beginning is known, and when that was. */
  #start: { readonly turn: number; readonly time: number } | undefined;
  /** The Turn that was counted last. */
  #counted: number | undefined;
  #turns = 0;
  #title: string | undefined;
  #model: string | undefined;
  #isHeadShown = false;

  constructor(style: TranscriptStyle, times: LocalTimes, fullness: Fullness) {
    this.#style = style;
    this.#times = times;
    this.#entries = new EntryText(style, fullness);
  }

  /** Turns of which something was shown. */
  get turns(): number {
    return this.#turns;
  }

  /** What was used, also in events that were passed over. */
  get usage(): UsageTotals {
    return this.#usage.total;
  }

  /** What the head is to tell; from here on what changes is told where it changes. */
  known(facts: HeadFacts): HeadFacts {
    this.#isHeadShown = true;
    const title = facts.title ?? this.#title;
    return {
      ...facts,
      ...(title === undefined ? {} : { title }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
  }

  /** Passes over an event that comes next: it explains what follows it. */
  pass(event: SessionEvent): void {
    this.#usage.fold(event);
    if (isEvent(event, "turn/start")) this.#started(event.data.turn, event.time);
    else if (isEvent(event, "tool/call")) this.#calls.set(event.data.callId, event.time);
    else if (isEvent(event, "request/header")) this.#model = modelText(event.data.header.config);
    else this.#title = givenTitle(event) ?? this.#title;
  }

  /** What is shown of the event that comes next, which is often nothing. @param entry that it makes */
  show(event: SessionEvent, entry: TranscriptEntry | undefined): string {
    const [title, model] = [this.#title, this.#model];
    const cutOff = isEvent(event, "turn/start") ? this.#entry(entry, event) : "";
    this.pass(event);
    if (isEvent(event, "turn/start")) return cutOff + this.#begin(event.data.turn);
    if (isEvent(event, "turn/end")) {
      const { turn, reason } = event.data;
      const answer = entry?.kind === "assistant" ? this.#entry(entry, event) : "";
      return answer + this.#end(turn, reason, event.time);
    }
    if (event.type === "session/title") return this.#change("Title", title, this.#title);
    if (isEvent(event, "request/header")) return this.#change("Model", model, this.#model);
    return this.#entry(entry, event) + this.#told(event);
  }

  /** An answer that goes on, or went on when the log broke off. */
  open(entry: Entry<"assistant">): string {
    return this.#inTurn(entry) + this.#entries.assistant(entry, "so far");
  }

  #entry(entry: TranscriptEntry | undefined, event: SessionEvent): string {
    switch (entry?.kind) {
      case "user":
        return this.#inTurn(entry) + this.#entries.user(entry, sourceOf(event));
      case "assistant":
        return this.#inTurn(entry) + this.#entries.assistant(entry, howCutOff(entry));
      case "tool":
        return this.#inTurn(entry) + this.#entries.tool(entry, this.#took(entry, event.time));
      default:
        return "";
    }
  }

  /** What is shown of events that make no entry. */
  #told(event: SessionEvent): string {
    if (event.type === "llm/retry") return this.#note(retryOf(event));
    if (event.type === "session/end-seed")
      return this.#note("Up to here it is a copy of the session that it was forked from");
    // What it replaces was shown, and so is what it stands in for: the model is told another history from here on.
    return isEvent(event, "user/message") && event.surfaceOp !== "append"
      ? this.#note("What was said so far was compacted: from here on the model is told a summary of it")
      : "";
  }

  /** What the head does not tell. */
  #change(what: string, before: string | undefined, now: string | undefined): string {
    const isNew = now !== before && (before !== undefined || this.#isHeadShown);
    return isNew ? this.#note(`${what}: ${now}`) : "";
  }

  #note(text: string): string {
    return `\n${this.#style.own(text, "dim")}`;
  }

  #started(turn: number, time: number): void {
    this.#start = { turn, time };
    this.#calls.clear();
  }

  /** When a Turn began, where that is known. */
  #startOf(turn: number): number | undefined {
    return this.#start?.turn === turn ? this.#start.time : undefined;
  }

  /** The heading of a Turn. */
  #begin(turn: number): string {
    this.#turn = turn;
    if (turn !== this.#counted) this.#turns += 1;
    this.#counted = turn;
    const time = this.#startOf(turn);
    const when = time === undefined ? "" : `, ${this.#times.text(time)}`;
    return `\n${this.#style.own(`Turn ${turn}${when}`, "bold")}`;
  }

  /** The heading of a Turn of which the beginning is not shown. */
  #inTurn({ turn }: TranscriptEntry): string {
    return turn === 0 || turn === this.#turn ? "" : this.#begin(turn);
  }

  #end(turn: number, reason: TurnEndReason, time: number): string {
    const heading = turn === this.#turn ? "" : this.#begin(turn);
    const isDone = reason.kind === "completed";
    const start = this.#startOf(turn);
    const took = start === undefined ? "" : ` after ${formatDuration(time - start)}`;
    const how = isDone ? took : `: ${describeEnd(reason)}${took === "" ? "" : `,${took}`}`;
    // Of a Turn that is known in part they would be too few.
    const tokens = start === undefined ? "" : tokensText(this.#usage.ofTurn(turn));
    const line = `Turn ${turn} ended${how}${tokens === "" ? "" : `; ${tokens}`}`;
    this.#turn = undefined;
    this.#start = undefined;
    return `${heading}\n${this.#style.own(line, isDone ? "dim" : "bold")}`;
  }

  /** Milliseconds that a call took, where it is known. */
  #took({ callId }: Entry<"tool">, time: number): number | undefined {
    const began = this.#calls.get(callId);
    this.#calls.delete(callId);
    return began === undefined ? undefined : time - began;
  }
}

function sourceOf(event: SessionEvent): string {
  return isEvent(event, "user/message") ? event.data.source.kind : "user";
}
