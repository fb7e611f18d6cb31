import { LiveTranscript } from "../../../session/projections/index.ts";
import type { DecodedRecord } from "../../../session/records.ts";
import { counted } from "../../counted.ts";
import type { LocalTimes } from "../../local-time.ts";
import { shownEvent } from "./read-session.ts";
import type { HeadFacts } from "./session-head.ts";
import { tokensText } from "./told.ts";
import type { TranscriptStyle } from "./transcript-style.ts";
import { TranscriptView } from "./transcript-view.ts";

/** Makes a transcript for people of the records of a session, one after the other. Memory follows one answer, not the log. */
export class SessionView {
  readonly #style: TranscriptStyle;
  readonly #view: TranscriptView;
  readonly #live = new LiveTranscript();

  /** @param isFull whether nothing is shortened, and reasoning is shown */
  constructor(style: TranscriptStyle, times: LocalTimes, isFull: boolean) {
    this.#style = style;
    this.#view = new TranscriptView(style, times, isFull ? "full" : { namesFlag: true });
  }

  /** What the head is to tell; from here on what changes is told where it changes. */
  known(facts: HeadFacts): HeadFacts {
    return this.#view.known(facts);
  }

  /** What is shown of the record that comes next, which is often nothing. */
  take(decoded: DecodedRecord): string {
    const event = shownEvent(decoded);
    if (event !== undefined) return this.#view.show(event, this.#live.fold(event));
    this.#live.pass(decoded.record);
    if (decoded.event !== undefined) this.#view.pass(decoded.event);
    return "";
  }

  /**
   * What is shown below the last record: an answer that goes on, or went on when the log broke off, and totals.
   * @param events that were shown
   * @param next seq behind the last of them
   * @param isPart whether there may be more in the session
   */
  end(events: number, next: number, isPart: boolean): string {
    const open = this.#live.openAnswer(next);
    const answer = open?.kind === "assistant" ? this.#view.open(open) : "";
    const { turns, usage } = this.#view;
    const told = counted(turns, "Turn");
    const counts = isPart
      ? [`${counted(events, "event")}${turns === 0 ? "" : ` of ${told}`}`]
      : [told, counted(events, "event")];
    const parts = [...counts, tokensText(usage)].filter((part) => part !== "");
    return `${answer}\n${this.#style.own(`${isPart ? "Shown" : "Total"}: ${parts.join(", ")}`, "dim")}`;
  }
}
