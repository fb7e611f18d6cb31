import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEvent } from "../../../src/session/events.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import { auditEvents, auditRecords } from "../../fixtures/audited.ts";
import { recordsOf } from "../../fixtures/logs.ts";

const share = fc.nat(999).map((n) => n / 1000);

function pick(length: number, fraction: number): number {
  return Math.min(length - 1, Math.floor(fraction * length));
}

function codes(events: readonly SessionEvent[]): Set<string> {
  return new Set(auditEvents(events).map(({ code }) => code));
}

/** What may be found beside a fault in the order: the seqs that later messages name and that are not there. */
function otherThanOrder(events: readonly SessionEvent[]): string[] {
  const order = new Set(["events-missing", "events-repeated", "reference"]);
  return [...codes(events)].filter((code) => !order.has(code));
}

/** The log without one event, as if it had never been written: the others move up. */
function neverWritten(events: readonly SessionEvent[], gone: number): SessionEvent[] {
  const moved = (seq: number) => (seq > gone ? seq - 1 : seq);
  return events
    .filter(({ seq }) => seq !== gone)
    .map((event) => {
      const { sourceEventSeqs, surfaceOp } = event;
      return {
        ...event,
        seq: moved(event.seq),
        ...(sourceEventSeqs === undefined
          ? {}
          : { sourceEventSeqs: sourceEventSeqs.filter((seq) => seq !== gone).map(moved) }),
        ...(typeof surfaceOp === "object"
          ? { surfaceOp: { ...surfaceOp, start: moved(surfaceOp.start), end: moved(surfaceOp.end) } }
          : {}),
      };
    });
}

describe("of a sound log", () => {
  test("whole or broken off anywhere, at most an open Turn is told", () => {
    fc.assert(
      fc.property(arbitraryEvents(), batchSizes(), share, (events, sizes, fraction) => {
        const cut = events.slice(0, pick(events.length + 1, fraction));
        for (const part of [events, cut]) {
          const found = auditRecords(recordsOf(part, sizes)).map(({ code }) => code);
          expect(found.filter((code) => code !== "open-turn")).toEqual([]);
          expect(found.length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  test("one event that is lost is one gap, and nothing else is wrong but what names it", () => {
    fc.assert(
      fc.property(arbitraryEvents(), share, (events, fraction) => {
        fc.pre(events.length > 1);
        const gone = pick(events.length - 1, fraction);
        const rest = events.filter(({ seq }) => seq !== gone);
        const missing = auditEvents(rest).filter(({ code }) => code === "events-missing");
        expect(missing.map(({ place, found }) => [place.seq, found])).toEqual([[gone, `seq ${gone + 1}`]]);
        expect(otherThanOrder(rest)).toEqual([]);
      }),
    );
  });

  test("one event that stands there twice, anywhere, goes back once", () => {
    fc.assert(
      fc.property(arbitraryEvents(), share, share, (events, which, where) => {
        const event = events[pick(events.length, which)];
        if (event === undefined) return;
        const at = event.seq + 1 + pick(events.length - event.seq, where);
        const twice = events.toSpliced(at, 0, event);
        const back = auditEvents(twice).filter(({ code }) => code === "events-repeated");
        expect(back.map(({ place }) => place.seq)).toEqual([event.seq]);
        expect(otherThanOrder(twice)).toEqual([]);
      }),
    );
  });

  test("two events that changed places are found", () => {
    fc.assert(
      fc.property(arbitraryEvents(), share, share, (events, one, other) => {
        const [a, b] = [events[pick(events.length, one)], events[pick(events.length, other)]];
        if (a === undefined || b === undefined || a === b) return;
        const swapped = events.with(a.seq, b).with(b.seq, a);
        expect(codes(swapped)).toContain("events-repeated");
        expect(otherThanOrder(swapped)).toEqual([]);
      }),
    );
  });

  test("a beginning or end of a Turn or Step that was never written is found, once", () => {
    const kinds = new Set(["turn/start", "turn/end", "step/start", "step/end"]);
    fc.assert(
      fc.property(arbitraryEvents(), share, (events, fraction) => {
        const last = events.findLastIndex(({ type }) => type === "turn/end");
        const whole = events.slice(0, last + 1);
        const marks = whole.filter(({ type }) => kinds.has(type));
        const gone = marks[pick(marks.length, fraction)];
        if (gone === undefined) return;
        expect(auditEvents(neverWritten(whole, gone.seq))).toHaveLength(1);
      }),
    );
  });

  test("a result that was never written is found, once", () => {
    fc.assert(
      fc.property(arbitraryEvents(), share, (events, fraction) => {
        const last = events.findLastIndex(({ type }) => type === "turn/end");
        const whole = events.slice(0, last + 1);
        const replaced = new Set(
          whole.flatMap(({ surfaceOp }) => (typeof surfaceOp === "object" ? [surfaceOp.start] : [])),
        );
        const results = whole.filter(
          ({ type, surfaceOp, seq }) =>
            type === "tool/result" && surfaceOp === "append" && !replaced.has(seq),
        );
        const gone = results[pick(results.length, fraction)];
        if (gone === undefined) return;
        expect(codes(neverWritten(whole, gone.seq))).toContain("tool-pairing");
      }),
    );
  });
});
