import { describe, expect, test } from "bun:test";
import { LogAudit } from "../../../src/session/audit/index.ts";
import { decodeRecord, type SessionRecord } from "../../../src/session/records.ts";
import { auditRecords } from "../../fixtures/audited.ts";
import {
  assistantMessage,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toEvents,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };
const DELTAS = Array.from({ length: 6 }, (_, k) => textDelta(AT, `piece ${k}`));
/** Seqs: 0 turn/start, 1 user, 2 step/start, 3 to 8 deltas as one record, 9 message that cites them, 10, 11 the ends. */
const TURN = [
  turnStart(1),
  userMessage("hi"),
  stepStart(AT),
  ...DELTAS,
  assistantMessage(AT, [textBlock("x")], { sources: [3, 4, 5, 6, 7, 8] }),
  stepEnd(AT),
  turnEnd(1),
];
const RECORDS = recordsOf(toEvents(TURN));

function recordAt(seq: number): SessionRecord {
  const record = RECORDS.find((candidate) => candidate.seq === seq);
  if (record === undefined) throw new RangeError(`no record begins at ${seq}`);
  return record;
}

function titles(from: number, count: number): SessionRecord[] {
  const drafts = Array.from({ length: count }, (_, k) => ({ type: "session/title" as const, data: k }));
  return recordsOf(toEvents(drafts, 0, from));
}

/** Code, row, and what was expected and found. */
function found(records: readonly SessionRecord[]): string[] {
  return auditRecords(records).map(
    (fault) =>
      `${fault.code} in row ${fault.place.row}, seq ${fault.place.seq}: ${fault.expected} | ${fault.found}`,
  );
}

describe("seqs", () => {
  test("in order are no fault, however events are packed", () => {
    expect(RECORDS.map(({ count }) => count)).toContain(6);
    expect(auditRecords(RECORDS)).toEqual([]);
    for (const sizes of [[1], [2, 3], [5]])
      expect(auditRecords(recordsOf(toEvents(TURN), sizes))).toEqual([]);
  });

  test("that are missing are told once, with how many", () => {
    expect(auditRecords([...titles(0, 2), ...titles(5, 2)])).toEqual([
      {
        code: "events-missing",
        message: "3 events are missing",
        place: { row: 3, seq: 2 },
        expected: "seq 2",
        found: "seq 5",
      },
    ]);
    expect(found(titles(1, 3))).toEqual(["events-missing in row 1, seq 0: seq 0 | seq 1"]);
  });

  test("of a second branch are told once, with how much it holds", () => {
    const branch = [...titles(5, 3), ...recordsOf(toEvents(DELTAS, 0, 8)), ...titles(14, 6)];
    expect(found([...titles(0, 10), ...branch])).toEqual([
      "events-repeated in row 11, seq 5: seq 10 | seq 5, and 15 events in 10 records from there on",
    ]);
  });

  test("of several branches are told one by one", () => {
    expect(found([...titles(0, 10), ...titles(8, 2), ...titles(8, 4), ...titles(3, 1)])).toEqual([
      "events-repeated in row 11, seq 8: seq 10 | seq 8, and 2 events in 2 records from there on",
      "events-repeated in row 13, seq 8: seq 10 | seq 8, and 4 events in 4 records from there on",
      "events-repeated in row 17, seq 3: seq 12 | seq 3, and 1 event in 1 record from there on",
    ]);
  });

  test("that come too late are told as such, and no longer missed", () => {
    const late = [...titles(0, 2), ...titles(4, 1), ...titles(2, 2), ...titles(5, 1)];
    const cite = recordsOf(
      toEvents([{ ...userMessage("x"), sourceEventSeqs: [2, 3], surfaceOp: "append" }], 0, 6),
    );
    expect(found([...late, ...cite])).toEqual([
      "events-missing in row 3, seq 2: seq 2 | seq 4",
      "events-repeated in row 4, seq 2: seq 5 | seq 2, and 2 events in 2 records from there on",
    ]);
  });
});

describe("behind a gap", () => {
  test("nothing is said of the Turn and Step that it tore, but of the next ones again", () => {
    const without = RECORDS.filter(({ seq }) => seq !== 2);
    expect(found(without)).toEqual(["events-missing in row 3, seq 2: seq 2 | seq 3"]);
    const next = recordsOf(toEvents([turnStart(2), stepStart({ turn: 2, step: 1 }), turnEnd(2)], 0, 12));
    expect(found([...without, ...next])).toEqual([
      "events-missing in row 3, seq 2: seq 2 | seq 3",
      "turn-balance in row 9, seq 14: what goes on with Turn 2, Step 1 | the end of Turn 2",
    ]);
  });

  test("a source that is missing is found, and one that is there is not", () => {
    const without = RECORDS.filter(({ seq }) => seq !== 3);
    expect(found(without)).toEqual([
      "events-missing in row 4, seq 3: seq 3 | seq 9",
      "reference in row 4, seq 9: events that are there | seq 3",
    ]);
  });

  test("a replacement of what is missing is found", () => {
    const replacement = recordsOf(toEvents([replacing(userMessage("sum"), 1, 9, [1, 9])], 0, 12));
    const without = [...RECORDS.filter(({ seq }) => seq !== 1), ...replacement];
    expect(found(without)).toEqual([
      "events-missing in row 2, seq 1: seq 1 | seq 2",
      "reference in row 7, seq 12: events that are there | seq 1",
    ]);
  });

  test("an open Turn is not told, since nobody will close it", () => {
    expect(found([...titles(0, 1), ...recordsOf(toEvents([turnStart(1)], 0, 2))])).toHaveLength(1);
  });
});

describe("references", () => {
  test.each<[string, number, number, readonly number[], string]>([
    [
      "from what is not on the surface",
      2,
      9,
      [1, 9],
      "a replacement from seq 2, which is not on the surface",
    ],
    ["the wrong way round", 9, 1, [1, 9], "a replacement whose end 1 stands before its start 9"],
    [
      "that does not cite what it covers",
      1,
      9,
      [9],
      "a replacement that cites every event it shadows, but not seq 1",
    ],
  ])("a replacement %s is found", (_, start, end, sources, fault) => {
    const bad = recordsOf(toEvents([replacing(userMessage("sum"), start, end, sources)], 0, 12));
    const more = recordsOf(toEvents([replacing(userMessage("more"), 12, 12, [12])], 0, 13));
    const code = "reference in row 8, seq 12";
    expect(found([...RECORDS, ...bad, ...more])).toEqual([
      `${code}: a surface operation on what is there | ${fault}`,
    ]);
  });

  test("a sound replacement is no fault", () => {
    const sound = recordsOf(toEvents([replacing(userMessage("sum"), 1, 9, [1, 9])], 0, 12));
    expect(found([...RECORDS, ...sound])).toEqual([]);
  });
});

describe("types", () => {
  test("that nobody knows are told once each, at the first", () => {
    const texts = ["new/a", "new/b", "new/a"].map(
      (type, seq) => `{"type":"${type}","seq":${seq},"time":0,"data":{}}`,
    );
    const records = texts.map((text) => decodeRecord(text, {}).record);
    expect(found(records)).toEqual([
      'unknown-type in row 1, seq 0: a known type, or an ignorable event | "new/a"',
      'unknown-type in row 2, seq 1: a known type, or an ignorable event | "new/b"',
    ]);
  });
});

test("a log is readable as far as an ordinary reader gets", () => {
  const replacement = recordsOf(toEvents([replacing(userMessage("sum"), 2, 2, [2])], 0, 12));
  const readable = (records: readonly SessionRecord[]) => {
    const audit = new LogAudit();
    return records.map(({ text }) => {
      audit.take(decodeRecord(text, {}), () => ({}));
      return audit.isReadable;
    });
  };
  const yes = RECORDS.map(() => true);
  expect(readable([...RECORDS, ...titles(12, 2)])).toEqual([...yes, true, true]);
  expect(readable([...RECORDS, ...titles(13, 2)])).toEqual([...yes, false, false]);
  expect(readable([...RECORDS, recordAt(11), ...titles(12, 1)])).toEqual([...yes, false, false]);
  expect(readable([...RECORDS, ...replacement, ...titles(13, 1)])).toEqual([...yes, false, false]);
  // A Turn that ends twice keeps nobody from reading.
  expect(readable([...RECORDS, ...recordsOf(toEvents([turnEnd(1)], 0, 12))])).toEqual([...yes, true]);
});
