import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEvent } from "../../../src/session/events.ts";
import { LogView } from "../../../src/session/log-view.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { decodeRecord } from "../../../src/session/records.ts";
import { allEventDrafts, arbitraryEvents, batchSizes, toEvents } from "../../fixtures/arbitraries.ts";
import { replacing, userMessage } from "../../fixtures/event-drafts.ts";
import { recordsOf, viewOf, viewOfDrafts } from "../../fixtures/logs.ts";

/** All that the projections say about a log. */
function state(projections: SessionProjections, log: LogView) {
  const { openWork, usage, surface, requestHeader, seen } = projections;
  const { turn, step, calls, lastTurn, lastTime } = openWork;
  return {
    seen,
    surface: surface.seqs,
    openWork: { turn, step, calls, lastTurn, lastTime },
    usage: [usage.total, ...Array.from({ length: lastTurn }, (_, k) => usage.ofTurn(k + 1))],
    requestHeader,
    transcript: [...projections.transcript(log)],
    messages: projections.messages(log, "s"),
  };
}

function decodedFold(log: LogView): SessionProjections {
  const projections = new SessionProjections();
  for (const { text } of log.records())
    expect(projections.foldDecoded(decodeRecord(text, {}))).toBeUndefined();
  return projections;
}

function foldOneByOne(events: readonly SessionEvent[]): SessionProjections {
  return decodedFold(viewOf(events, [1]));
}

describe("an incremental fold", () => {
  test("equals a fresh full fold at every prefix, however the records were packed and read", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
        const records = recordsOf(events, sizes);
        const incremental = new SessionProjections();
        for (let count = 1; count <= records.length; count += 1) {
          const log = new LogView(records, count);
          const now = state(incremental.catchUp(log), log);
          expect(now.seen).toBe(log.length);
          expect(state(new SessionProjections().catchUp(log), log)).toEqual(now);
        }
        const log = new LogView(records);
        expect(state(decodedFold(log), log)).toEqual(state(incremental, log));
        expect(state(foldOneByOne(events), log)).toEqual(state(incremental, log));
      }),
      { numRuns: 60 },
    );
  });

  test("costs nothing when nothing is new", () => {
    const log = viewOfDrafts(allEventDrafts());
    const projections = new SessionProjections().catchUp(log);
    const before = state(projections, log);
    expect(state(projections.catchUp(log), log)).toEqual(before);
  });
});

describe("a clone", () => {
  test("has the same state, and both go their own way", () => {
    fc.assert(
      fc.property(arbitraryEvents(), fc.nat(), (events, cut) => {
        const records = recordsOf(events, [1]);
        const half = new LogView(records, cut % records.length);
        const whole = new LogView(records);
        const original = new SessionProjections().catchUp(half);
        const before = state(original, half);
        const copy = original.clone();
        expect(state(copy, half)).toEqual(before);
        expect(state(copy.catchUp(whole), whole)).toEqual(
          state(new SessionProjections().catchUp(whole), whole),
        );
        expect(state(original, half)).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the projections", () => {
  test("know the latest request header, frozen", () => {
    const header = (model: string) => ({ config: { provider: "p", model } });
    const log = viewOfDrafts([
      { type: "request/header", data: { header: header("a"), reason: "initial" } },
      { type: "request/header", data: { header: header("b"), reason: "change" } },
    ]);
    for (const projections of [new SessionProjections().catchUp(log), decodedFold(log)]) {
      expect(projections.requestHeader).toEqual(header("b"));
      expect(Object.isFrozen(projections.requestHeader?.config)).toBe(true);
    }
    expect(new SessionProjections().requestHeader).toBeUndefined();
  });

  test("fold nothing of an event that does not fit the surface, and say why", () => {
    const projections = foldOneByOne(toEvents([userMessage("a")]));
    const [bad] = toEvents([replacing(userMessage("b"), 5, 5, [])], 0, 1);
    const fault = projections.foldDecoded(decodeRecord(JSON.stringify(bad), {}));
    expect(fault).toContain("from seq 5");
    expect([projections.seen, projections.surface.seqs]).toEqual([1, [0]]);
  });
});
