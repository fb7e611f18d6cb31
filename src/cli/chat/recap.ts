import type { SessionEvent } from "../../session/events.ts";
import type { LogView } from "../../session/log-view.ts";
import type { SessionProjections, TranscriptEntry } from "../../session/projections/index.ts";
import { recordEvents } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { LocalTimes } from "../local-time.ts";
import { type EntryOptions, EntryText } from "../sessions/show/entry-text.ts";
import { howCutOff } from "../sessions/show/told.ts";
import type { TranscriptStyle } from "../sessions/show/transcript-style.ts";
import { TranscriptView } from "../sessions/show/transcript-view.ts";

/** Lines that a recap takes; more only where the last answer is longer. */
const MOST_LINES = 40;
/** Entries that are looked at: each takes two lines at least. */
const MOST_ENTRIES = MOST_LINES / 2;
/** Lines around the entries of a Turn: its heading and its end. */
const TURN_LINES = 4;
/** How much is shown of what was said before the last answer, and of what a tool gave. */
const SAID = { lines: 8, length: 640 };
const GIVEN = { lines: 4, length: 320 };

/** A session that is gone on with. */
export interface Recapped {
  readonly log: LogView;
  readonly projections: SessionProjections;
}

export interface Recap {
  /** Entries that precede what is shown. */
  readonly earlier: number;
  readonly text: string;
}

/** The end of a conversation as `sessions show` has it, short, and with the last answer whole. */
export function recapOf(session: Recapped, style: TranscriptStyle): Recap {
  const entries: TranscriptEntry[] = [];
  let length = 0;
  for (const entry of session.projections.transcript(session.log)) {
    length += 1;
    entries.push(entry);
    if (entries.length > MOST_ENTRIES) entries.shift();
  }
  const answer = entries.findLast((entry) => entry.kind === "assistant" && entry.text !== "");
  const options: EntryOptions = {
    given: GIVEN,
    said: (entry) => (entry === answer ? undefined : SAID),
    namesFlag: false,
  };
  const shown = fitting(entries, answer, new EntryText(style, options));
  const [first] = shown;
  if (first === undefined) return { earlier: length, text: "" };
  const view = new TranscriptView(style, new LocalTimes(), options);
  const bySeq = new Map(shown.map((entry) => [entry.seq, entry]));
  let text = "";
  for (const event of eventsOfTurn(session.log, first.seq)) {
    if (event.seq < first.seq) view.pass(event);
    else text += view.show(event, bySeq.get(event.seq));
  }
  return { earlier: length - shown.length, text };
}

/** The last entries that there is room for. */
function fitting(
  entries: readonly TranscriptEntry[],
  answer: TranscriptEntry | undefined,
  text: EntryText,
): readonly TranscriptEntry[] {
  let lines = 0;
  let turn: number | undefined;
  for (let k = entries.length - 1; k >= 0; k -= 1) {
    const entry = entries[k];
    if (entry === undefined) break;
    lines += linesOf(entry, text) + (entry.turn === turn ? 0 : TURN_LINES);
    turn = entry.turn;
    const isKept = entry === answer || k === entries.length - 1;
    if (lines > MOST_LINES && !isKept) return entries.slice(k + 1);
  }
  return entries;
}

function linesOf(entry: TranscriptEntry, text: EntryText): number {
  switch (entry.kind) {
    case "user":
      return count(text.user(entry, "user"));
    case "assistant":
      return count(text.assistant(entry, howCutOff(entry)));
    case "tool":
      return count(text.tool(entry, undefined));
    case "turn-end":
      return 0;
  }
}

function count(text: string): number {
  return text.split("\n").length - 1;
}

/** The events from the beginning of the Turn on that `seq` is in, but for the texts of answers while they streamed. */
function* eventsOfTurn(log: LogView, seq: number): Generator<SessionEvent> {
  let start = seq;
  for (const record of log.records(0, seq + 1)) if (record.type === "turn/start") start = record.seq;
  for (const record of log.records(start)) {
    if (isRunType(record.type)) continue;
    for (const event of recordEvents(record)) if (event.seq >= start) yield event;
  }
}
