import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LogAudit } from "../../../src/session/audit/index.ts";
import { isEvent, type SessionEvent } from "../../../src/session/events.ts";
import { LogView } from "../../../src/session/log-view.ts";
import { SessionProjections } from "../../../src/session/projections/index.ts";
import { recordEvents, type SessionRecord } from "../../../src/session/records.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { decodedAgain, eventsIn, harmedLog, type StoredItem, salvaged } from "../../fixtures/salvaging.ts";

const RUNS = { numRuns: 100 };

/** What an event says, wherever it stands. */
function essence({ type, time, data }: SessionEvent): string {
  return JSON.stringify([type, time, data]);
}

function isNote({ type }: SessionEvent): boolean {
  return type === "salvage/gap" || type === "salvage/event" || type === "salvage/end";
}

/** What is in a new log: in its history, and inside `salvage/event`. */
function contents(records: readonly SessionRecord[]): string[] {
  return records.flatMap(recordEvents).flatMap((event) => {
    if (event.type !== "salvage/event") return [essence(event)];
    const kept: { record?: unknown; text?: string } = { ...(event.data as object) };
    const text = kept.text ?? JSON.stringify(kept.record);
    return decodedAgain([{ seq: 0, count: 1, type: "", time: 0, text }]).flatMap(({ record }) =>
      recordEvents(record).map(essence),
    );
  });
}

function tally(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** Why a model could not be given these messages; nothing when it could. */
function unpaired(records: readonly SessionRecord[]): string | undefined {
  const log = new LogView(records);
  const open = new Set<string>();
  for (const message of new SessionProjections().catchUp(log).messages(log, "new")) {
    for (const block of message.content) {
      if (block.type === "tool-call") open.add(block.id);
      if (block.type === "tool-result" && !open.delete(block.toolCallId))
        return `a result of ${block.toolCallId}`;
    }
  }
  return open.size === 0 ? undefined : `calls ${[...open].join()}`;
}

function faults(records: readonly SessionRecord[]): unknown[] {
  const audit = new LogAudit();
  const found = decodedAgain(records).flatMap((decoded) => audit.take(decoded, () => ({})));
  return [...found, ...audit.finish(true, () => ({}))];
}

describe("of a harmed log, a salvage", () => {
  test("holds every event once, in its history or beside it", () => {
    fc.assert(
      fc.property(harmedLog(), (items) => {
        const { records, totals } = salvaged(items);
        const stored = eventsIn(items);
        expect(totals.taken + totals.aside + totals.repeated).toBe(stored.length);
        const counts = tally(contents(records));
        for (const text of new Set(stored.map(essence))) expect(counts.get(text) ?? 0).toBeGreaterThan(0);
        const own = records.flatMap(recordEvents).filter((event) => !isNote(event)).length;
        expect(own).toBe(totals.taken + totals.added);
      }),
      RUNS,
    );
  });

  test("is a log without a fault, also for a reader that sees it for the first time", () => {
    fc.assert(
      fc.property(harmedLog(), (items) => {
        const { records } = salvaged(items);
        expect(decodedAgain(records).map(({ record }) => record)).toEqual([...records]);
        expect(records.map(({ seq, count }) => seq + count).slice(0, -1)).toEqual(
          records.map(({ seq }) => seq).slice(1),
        );
        expect(records[0]?.seq).toBe(0);
        expect(faults(records)).toEqual([]);
      }),
      RUNS,
    );
  });

  test("gives a history in which each call has its one result", () => {
    fc.assert(
      fc.property(harmedLog(), (items) => {
        expect(unpaired(salvaged(items).records)).toBeUndefined();
      }),
      RUNS,
    );
  });

  test("is the same every time", () => {
    fc.assert(
      fc.property(harmedLog(), (items) => {
        expect(salvaged(items)).toEqual(salvaged(items));
      }),
      { numRuns: 30 },
    );
  });

  test("of its own is sound, and adds nothing but its end", () => {
    fc.assert(
      fc.property(harmedLog(), (items) => {
        const once = salvaged(items).records;
        const twice = salvaged(once);
        expect(twice.totals).toMatchObject({ isSound: true, added: 0 });
        expect(twice.records.slice(0, -1)).toEqual([...once]);
      }),
      { numRuns: 60 },
    );
  });
});

test("of a sound log a salvage is the log itself, closed as recovery closes it, and a note at its end", () => {
  fc.assert(
    fc.property(arbitraryEvents(), batchSizes(), (events, sizes) => {
      const original: readonly StoredItem[] = recordsOf(events, sizes);
      const { records, totals } = salvaged(original);
      expect(records.slice(0, original.length)).toEqual(recordsOf(events, sizes));
      expect(totals).toMatchObject({
        taken: events.length,
        aside: 0,
        missing: 0,
        repeated: 0,
        isSound: true,
      });
      const rest = records.slice(original.length).flatMap(recordEvents);
      expect(rest.slice(0, -1).every((event) => !isEvent(event, "user/message"))).toBe(true);
      expect(rest.at(-1)).toMatchObject({ type: "salvage/end", ignorable: true });
    }),
    RUNS,
  );
});
