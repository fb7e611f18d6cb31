import { expect } from "bun:test";
import type { SessionEvent } from "../../src/session/events.ts";
import { LogView } from "../../src/session/log-view.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { closeInterruptedTurn } from "../../src/session/recovery.ts";

/*
 * The plain model that a store is compared with: the events in an array, one text each, never packed, never stored.
 */

/** A log as a store hands it out. */
export interface History {
  readonly log: LogView;
  readonly projections: SessionProjections;
}

/** The history of events that no store ever saw. */
export function modelOf(events: readonly SessionEvent[]): History {
  const log = new LogView(
    events.map((event) => {
      const { seq, type, time } = event;
      return { seq, count: 1, type, time, text: JSON.stringify(event) };
    }),
  );
  return { log, projections: new SessionProjections().catchUp(log) };
}

/** What recovery adds to these events. */
export function closersOf(events: readonly SessionEvent[]): SessionEvent[] {
  return closeInterruptedTurn(modelOf(events).projections.openWork, events.length);
}

/** All that projections say, as plain data. */
export function projected({ log, projections }: History, sessionId: string) {
  const { openWork, usage, surface, requestHeader, seen } = projections;
  const { turn, step, calls, lastTurn, lastTime } = openWork;
  return {
    messages: projections.messages(log, sessionId),
    transcript: [...projections.transcript(log)],
    usage: { total: usage.total, last: usage.ofTurn(lastTurn) },
    openWork: { turn, step, calls, lastTurn, lastTime },
    surface: surface.seqs,
    requestHeader,
    seen,
  };
}

/** Checks that a history is exactly these events: order, texts and everything derived. */
export function expectHistory(history: History, events: readonly SessionEvent[], sessionId: string): void {
  const { log } = history;
  expect(log.length).toBe(events.length);
  expect([...log.texts()]).toEqual(events.map((event) => JSON.stringify(event)));
  expect([...log]).toEqual([...events]);
  expect(projected(history, sessionId)).toEqual(projected(modelOf(events), sessionId));
}
