import type { TranscriptEntry } from "../../../session/projections/index.ts";
import { counted } from "../../counted.ts";
import { amountOf, characters, fitting, type Most, shortened } from "../shorten.ts";
import { formatDuration } from "./told.ts";
import type { TranscriptStyle } from "./transcript-style.ts";

/** How much is shown of what a tool gave, and of context that a program put in. */
const GIVEN: Most = { lines: 20, length: 2_000 };
/** Columns that the arguments of a call get at least. */
const LEAST_ARGUMENTS = 16;

export type Entry<K extends TranscriptEntry["kind"]> = Extract<TranscriptEntry, { kind: K }>;

export interface EntryOptions {
  /** How much is shown of what a tool gave, and of context that a program put in. */
  readonly given?: Most;
  /** How much of what a person or a model said; all of it when absent, or where it gives nothing. */
  readonly said?: (entry: TranscriptEntry) => Most | undefined;
  /** Whether it is said that `--full` shows what is left out. */
  readonly namesFlag: boolean;
}

/** What is shown when nothing is to be shortened, and reasoning is shown. */
export type Fullness = "full" | EntryOptions;

/** Single entries of a transcript as people read them, each with an empty line before it. */
export class EntryText {
  readonly #style: TranscriptStyle;
  readonly #options: EntryOptions | undefined;

  constructor(style: TranscriptStyle, fullness: Fullness) {
    this.#style = style;
    this.#options = fullness === "full" ? undefined : fullness;
  }

  /** @param source who it came from, `user` where that is a person */
  user(entry: Entry<"user">, source: string): string {
    const isPerson = source === "user";
    const title = this.#style.own(isPerson ? "User" : `Context from ${source}`, "bold");
    return `\n${title}${isPerson ? this.#said(entry) : this.#given(entry.text)}`;
  }

  /** @param how in which way it is not whole; empty where it is */
  assistant(entry: Entry<"assistant">, how: string): string {
    const title = this.#style.own(how === "" ? "Assistant" : `Assistant, ${how}`, "bold");
    const calls = entry.toolCalls.map(({ name, arguments: args }) => this.#call(name, args));
    return `\n${title}${this.#reasoning(entry.reasoning)}${this.#said(entry)}${calls.join("")}`;
  }

  /** @param took milliseconds from the call to the result, where they are known */
  tool({ callId, name, ok, text, error }: Entry<"tool">, took: number | undefined): string {
    const failed = error === undefined ? "failed" : `failed (${error.code})`;
    const parts = [
      `Result of ${name === "" ? callId : name}`,
      ...(ok ? [] : [failed]),
      ...(took === undefined ? [] : [formatDuration(took)]),
    ];
    return `\n${this.#style.own(parts.join(", "), "bold")}${this.#given(text, "dim")}`;
  }

  #reasoning(reasoning: string | undefined): string {
    if (reasoning === undefined) return "";
    if (this.#options === undefined) {
      return `${this.#style.own("Reasoning", "dim")}${this.#style.said(reasoning.trimEnd(), "dim")}${this.#style.own("Answer", "dim")}`;
    }
    const amount = counted(characters(reasoning), "character");
    return this.#style.own(`Reasoning, ${amount}${this.#flag("it")}`, "dim");
  }

  #call(name: string, args: string): string {
    if (this.#options === undefined) return this.#style.own(`Call ${name}`) + this.#whole(args);
    const room = this.#style.room - Bun.stringWidth(`Call ${name} `);
    const length = characters(args);
    // More than could fit is not looked at.
    const most = Math.max(room, LEAST_ARGUMENTS);
    const whole = args.length <= 16 * most ? args : args.slice(0, 16 * most);
    if (whole === args && Bun.stringWidth(args) <= most) return this.#style.own(`Call ${name} ${args}`);
    const least = `…, ${counted(length, "character")} left out`.length;
    const kept = fitting(whole, Math.max(most - least, LEAST_ARGUMENTS));
    const left = counted(length - characters(kept), "character");
    return this.#style.own(`Call ${name} ${kept}…, ${left} left out`);
  }

  #said(entry: Entry<"user" | "assistant">): string {
    return this.#upTo(entry.text, this.#options?.said?.(entry), "plain");
  }

  #given(text: string, weight: "dim" | "plain" = "plain"): string {
    return this.#upTo(text, this.#options && (this.#options.given ?? GIVEN), weight);
  }

  #whole(text: string): string {
    return this.#upTo(text, undefined, "plain");
  }

  #upTo(text: string, most: Most | undefined, weight: "dim" | "plain"): string {
    const trimmed = text.trimEnd();
    if (trimmed === "") return "";
    const short = most && shortened(trimmed, most);
    if (short === undefined) return this.#style.said(trimmed, weight);
    const { head, middle, tail } = short;
    const note = this.#style.own(`(${amountOf(middle)} left out${this.#flag("all")})`, "dim");
    return (
      this.#style.said(head.replace(/\n$/, ""), weight) +
      note +
      (tail === "" ? "" : this.#style.said(tail, weight))
    );
  }

  #flag(what: string): string {
    return this.#options?.namesFlag === true ? `; --full shows ${what}` : "";
  }
}
