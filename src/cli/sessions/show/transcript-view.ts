import { isEvent, type SessionEvent, type TurnEndReason } from "../../../session/events.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../session/projections/index.ts";
import { UsageProjection } from "../../../session/projections/usage.ts";
import type { DecodedRecord } from "../../../session/records.ts";
import { formatTime } from "../list/table.ts";
import { amountOf, characters, countedCharacters, fitting, grouped, shortened } from "../shorten.ts";
import { shownEvent } from "./read-session.ts";
import type { HeadFacts } from "./session-head.ts";
import {
  countedEvents,
  describeEnd,
  formatDuration,
  howCutOff,
  retryOf,
  titleOf,
  tokensText,
} from "./told.ts";
import type { TranscriptStyle } from "./transcript-style.ts";

/** How much is shown of what a tool gave, and of context that a program put in. */
const MOST = { lines: 20, length: 2_000 };
/** Columns that the arguments of a call get at least. */
const LEAST_ARGUMENTS = 16;

type Entry<K extends TranscriptEntry["kind"]> = Extract<TranscriptEntry, { kind: K }>;

/** Makes a transcript for people of records, one after the other. Memory follows one answer, not the log. */
export class TranscriptView {
  readonly #style: TranscriptStyle;
  readonly #isFull: boolean;
  readonly #live = new LiveTranscript();
  readonly #usage = new UsageProjection();
  /** When the calls of the Turn were made that have no result yet. */
  readonly #calls = new Map<string, number>();
  #turn: number | undefined;
  #turnStart: number | undefined;
  #turns = 0;
  #title: string | undefined;
  #model: string | undefined;
  #isHeadShown = false;

  /** @param isFull whether nothing is shortened, and reasoning is shown */
  constructor(style: TranscriptStyle, isFull: boolean) {
    this.#style = style;
    this.#isFull = isFull;
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

  /** What is shown of the record that comes next, which is often nothing. */
  take(decoded: DecodedRecord): string {
    if (decoded.event !== undefined) this.#usage.fold(decoded.event);
    const event = shownEvent(decoded);
    if (event === undefined) {
      this.#live.pass(decoded.record);
      return "";
    }
    const entry = this.#live.fold(event);
    if (isEvent(event, "turn/start")) {
      return this.#entry(entry, event) + this.#begin(event.data.turn, event.time);
    }
    if (isEvent(event, "turn/end")) {
      const { turn, reason } = event.data;
      const cutOff = entry?.kind === "assistant" ? this.#entry(entry, event) : "";
      return cutOff + this.#end(turn, reason, event.time);
    }
    if (isEvent(event, "tool/call")) this.#calls.set(event.data.callId, event.time);
    return this.#entry(entry, event) + this.#told(event);
  }

  /**
   * What is shown below the last record: an answer that goes on, or went on when the log broke off, and totals.
   * @param events that were shown
   * @param next seq behind the last of them
   */
  end(events: number, next: number): string {
    const open = this.#live.openAnswer(next);
    const answer = open?.kind === "assistant" ? this.#assistant(open, "so far") : "";
    const turns = `${grouped(this.#turns)} ${this.#turns === 1 ? "Turn" : "Turns"}`;
    const parts = [turns, countedEvents(events), tokensText(this.#usage.total)];
    return `${answer}\n${this.#style.own(`Total: ${parts.filter((part) => part !== "").join(", ")}`, "dim")}`;
  }

  #entry(entry: TranscriptEntry | undefined, event: SessionEvent): string {
    if (entry === undefined) return "";
    switch (entry.kind) {
      case "user":
        return this.#inTurn(entry) + this.#user(entry, sourceOf(event));
      case "assistant":
        return this.#inTurn(entry) + this.#assistant(entry, howCutOff(entry, event));
      case "tool":
        return this.#inTurn(entry) + this.#tool(entry, event.time);
      case "turn-end":
        return "";
    }
  }

  /** What is shown of events that make no entry. */
  #told(event: SessionEvent): string {
    if (event.type === "session/title") {
      const title = titleOf(event);
      const before = this.#title;
      this.#title = title ?? before;
      return this.#change("Title", before, this.#title);
    }
    if (event.type === "llm/retry") return this.#note(retryOf(event));
    if (event.type === "session/end-seed")
      return this.#note("Up to here it is a copy of the session that it was forked from");
    if (isEvent(event, "request/header")) {
      const { provider, model } = event.data.header.config;
      const before = this.#model;
      this.#model = `${model} (${provider})`;
      return this.#change("Model", before, this.#model);
    }
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

  #begin(turn: number, time: number | undefined): string {
    this.#turn = turn;
    this.#turnStart = time;
    this.#turns += 1;
    this.#calls.clear();
    const when = time === undefined ? "" : `, ${formatTime(time)}`;
    return `\n${this.#style.own(`Turn ${turn}${when}`, "bold")}`;
  }

  /** The heading of a Turn of which the beginning is not shown. */
  #inTurn({ turn }: TranscriptEntry): string {
    return turn === 0 || turn === this.#turn ? "" : this.#begin(turn, undefined);
  }

  #end(turn: number, reason: TurnEndReason, time: number): string {
    const heading = turn === this.#turn ? "" : this.#begin(turn, undefined);
    const isDone = reason.kind === "completed";
    const took = this.#turnStart === undefined ? "" : ` after ${formatDuration(time - this.#turnStart)}`;
    const how = isDone ? took : `: ${describeEnd(reason)}${took === "" ? "" : `,${took}`}`;
    const tokens = tokensText(this.#usage.ofTurn(turn));
    const line = `Turn ${turn} ended${how}${tokens === "" ? "" : `; ${tokens}`}`;
    this.#turn = undefined;
    this.#turnStart = undefined;
    return `${heading}\n${this.#style.own(line, isDone ? "dim" : "bold")}`;
  }

  #user({ text }: Entry<"user">, source: string): string {
    const isPerson = source === "user";
    const title = this.#style.own(isPerson ? "User" : `Context from ${source}`, "bold");
    return `\n${title}${isPerson ? this.#said(text) : this.#short(text)}`;
  }

  #assistant({ text, reasoning, toolCalls }: Entry<"assistant">, how: string): string {
    const title = this.#style.own(how === "" ? "Assistant" : `Assistant, ${how}`, "bold");
    const calls = toolCalls.map(({ name, arguments: args }) => this.#call(name, args));
    return `\n${title}${this.#reasoning(reasoning)}${this.#said(text)}${calls.join("")}`;
  }

  #reasoning(reasoning: string | undefined): string {
    if (reasoning === undefined) return "";
    if (this.#isFull) {
      return `${this.#style.own("Reasoning", "dim")}${this.#style.said(reasoning.trimEnd(), "dim")}${this.#style.own("Answer", "dim")}`;
    }
    const amount = countedCharacters(characters(reasoning));
    return this.#style.own(`Reasoning, ${amount}; --full shows it`, "dim");
  }

  #call(name: string, args: string): string {
    if (this.#isFull) return this.#style.own(`Call ${name}`) + this.#said(args);
    const room = this.#style.room - Bun.stringWidth(`Call ${name} `);
    const length = characters(args);
    // More than could fit is not looked at.
    const most = Math.max(room, LEAST_ARGUMENTS);
    const whole = args.length <= 16 * most ? args : args.slice(0, 16 * most);
    if (whole === args && Bun.stringWidth(args) <= most) return this.#style.own(`Call ${name} ${args}`);
    const least = `…, ${countedCharacters(length)} left out`.length;
    const kept = fitting(whole, Math.max(most - least, LEAST_ARGUMENTS));
    const left = countedCharacters(length - characters(kept));
    return this.#style.own(`Call ${name} ${kept}…, ${left} left out`);
  }

  #tool({ callId, name, ok, text, error }: Entry<"tool">, time: number): string {
    const began = this.#calls.get(callId);
    this.#calls.delete(callId);
    const failed = error === undefined ? "failed" : `failed (${error.code})`;
    const parts = [
      `Result of ${name === "" ? callId : name}`,
      ...(ok ? [] : [failed]),
      ...(began === undefined ? [] : [formatDuration(time - began)]),
    ];
    return `\n${this.#style.own(parts.join(", "), "bold")}${this.#short(text, "dim")}`;
  }

  #said(text: string): string {
    const trimmed = text.trimEnd();
    return trimmed === "" ? "" : this.#style.said(trimmed);
  }

  #short(text: string, weight: "dim" | "plain" = "plain"): string {
    const trimmed = text.trimEnd();
    if (trimmed === "") return "";
    const short = this.#isFull ? undefined : shortened(trimmed, MOST);
    if (short === undefined) return this.#style.said(trimmed, weight);
    const { head, middle, tail } = short;
    const note = this.#style.own(`(${amountOf(middle)} left out; --full shows all)`, "dim");
    return (
      this.#style.said(head.replace(/\n$/, ""), weight) +
      note +
      (tail === "" ? "" : this.#style.said(tail, weight))
    );
  }
}

function sourceOf(event: SessionEvent): string {
  return isEvent(event, "user/message") ? event.data.source.kind : "user";
}
