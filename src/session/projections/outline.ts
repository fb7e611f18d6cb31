import { isEvent, type SessionEvent } from "../events.ts";
import { type DecodedRecord, recordRun, type SessionRecord } from "../records.ts";
import { isRunType, lastTime } from "../runs.ts";
import { clip } from "../text.ts";
import { joinText } from "./transcript.ts";

/** Longest title of an outline, in UTF-16 units. */
const MAX_TITLE = 500;
/** So much of the first input stands for a title, in UTF-16 units. */
const MAX_BEGINNING = 120;

/** What a person wants to know of a session without reading it. */
export interface Outline {
  /** The last `session/title`, or else the beginning of the first user text, on one line. */
  readonly title?: string;
  /** Times of the first and of the last event, in epoch milliseconds; absent where there is none. */
  readonly firstTime?: number;
  readonly lastTime?: number;
  /** Turns that began. */
  readonly turns: number;
  readonly events: number;
  /** Of the records' texts, as UTF-8: how much the session holds, however it is stored. */
  readonly bytes: number;
  /** Number of the last Turn, where it has no end. */
  readonly openTurn?: number;
}

/**
 * When a session was last active, in epoch milliseconds: at its last event or when it was made, whichever is later, for
 * a fork begins with events that are older than itself. Nothing where neither is known.
 */
export function lastActive(
  header: { readonly createdAt: number } | undefined,
  outline: Outline | undefined,
): number | undefined {
  const times = [header?.createdAt, outline?.lastTime].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Folds a log into its {@link Outline}, record by record from the first. Memory does not follow the log. */
export class OutlineFold {
  #title: string | undefined;
  #beginning: string | undefined;
  #firstTime: number | undefined;
  #lastTime: number | undefined;
  /** The last record: of a run the last time is worked out when somebody asks. */
  #last: SessionRecord | undefined;
  #turns = 0;
  #openTurn: number | undefined;
  #events = 0;
  #bytes = 0;

  /** @param outline of all that precedes the first record to come */
  constructor(outline?: Outline) {
    if (outline === undefined) return;
    // Also one that stands for the beginning: only a title that is given takes its place.
    this.#title = outline.title;
    this.#firstTime = outline.firstTime;
    this.#lastTime = outline.lastTime;
    this.#turns = outline.turns;
    this.#openTurn = outline.openTurn;
    this.#events = outline.events;
    this.#bytes = outline.bytes;
  }

  get outline(): Outline {
    const title = this.#title ?? this.#beginning;
    const last = this.#last === undefined ? this.#lastTime : endTime(this.#last);
    return {
      ...(title === undefined ? {} : { title }),
      ...(this.#firstTime === undefined ? {} : { firstTime: this.#firstTime }),
      ...(last === undefined ? {} : { lastTime: last }),
      turns: this.#turns,
      events: this.#events,
      bytes: this.#bytes,
      ...(this.#openTurn === undefined ? {} : { openTurn: this.#openTurn }),
    };
  }

  fold({ record, event }: DecodedRecord): void {
    this.#firstTime ??= record.time;
    this.#events += record.count;
    this.#bytes += Buffer.byteLength(record.text);
    this.#last = record;
    if (event === undefined) return;
    if (isEvent(event, "turn/start")) {
      this.#turns += 1;
      this.#openTurn = event.data.turn;
    } else if (isEvent(event, "turn/end")) this.#openTurn = undefined;
    this.#title = titleLine(givenTitle(event), MAX_TITLE) ?? this.#title;
    this.#beginning ??= titleLine(firstWords(event), MAX_BEGINNING);
  }
}

function endTime(record: SessionRecord): number {
  return isRunType(record.type) ? lastTime(recordRun(record)) : record.time;
}

/** What an event `session/title` says, as `sessions rename` and dsh write it; all of it. */
export function givenTitle({ type, data }: SessionEvent): string | undefined {
  if (type !== "session/title" || typeof data !== "object" || data === null) return undefined;
  const title: unknown = Reflect.get(data, "title");
  return typeof title === "string" ? title : undefined;
}

/** All of what a person said in an event, which can stand for a title; other messages of a user are context that a program added. */
export function firstWords(event: SessionEvent): string | undefined {
  if (!isEvent(event, "user/message") || event.surfaceOp !== "append") return undefined;
  return event.data.source.kind === "user" ? joinText(event.data.content) : undefined;
}

/** A title on one line: one that was given, or else the first words. Nothing where it says nothing. */
export function titleOf(given: string | undefined, first: string | undefined): string | undefined {
  return titleLine(given, MAX_TITLE) ?? titleLine(first, MAX_BEGINNING);
}

function titleLine(text: string | undefined, max: number): string | undefined {
  // What stands far behind is never shown, and a text may be as long as an event.
  const line = text
    ?.slice(0, 10 * max)
    .replace(/\s+/g, " ")
    .trim();
  return line === undefined || line === "" ? undefined : clip(line, max);
}
