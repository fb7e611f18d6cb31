import { describe, expect, test } from "bun:test";
import { generateSession, type WorkloadOptions, workloadHeader } from "../../bench/generator.ts";
import { encodeEvent, packBatch } from "../../src/session/encoding.ts";
import { isEvent, type SessionEvent } from "../../src/session/events.ts";
import { parseHeader, serialiseHeader } from "../../src/session/header.ts";
import { LogView } from "../../src/session/log-view.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { decodeRecord, type SessionRecord } from "../../src/session/records.ts";
import { closeInterruptedTurn } from "../../src/session/recovery.ts";
import { isRunType } from "../../src/session/runs.ts";

interface Packed {
  readonly batches: number;
  readonly records: readonly SessionRecord[];
  readonly log: LogView;
}

function pack(options: WorkloadOptions): Packed {
  const records: SessionRecord[] = [];
  let batches = 0;
  for (const batch of generateSession(options)) {
    batches += 1;
    records.push(...packBatch(batch.map(encodeEvent)));
  }
  return { batches, records, log: new LogView(records) };
}

/** Type of an event, and for chunks their kind. */
function kindOf(event: SessionEvent): string {
  return isEvent(event, "assistant/chunk") ? event.data.chunk.type : event.type;
}

function count<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

function digest(options: WorkloadOptions): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const batch of generateSession(options)) hash.update(JSON.stringify(batch));
  return hash.digest("hex");
}

const FULL = pack({ seed: 1 });
const EVENTS = FULL.log.slice();

describe("the default session", () => {
  test("has the numbers of the real one", () => {
    expect(count(EVENTS, kindOf)).toEqual({
      "agent/inbox/spliced": 22,
      "approval/policy": 2,
      "assistant/message": 123,
      "block-end": 321,
      "block-start": 321,
      "command/done": 1,
      "command/run": 1,
      finish: 123,
      "goal/change": 1,
      "permission/preset": 2,
      "reasoning-delta": 48_522,
      "request/context": 1,
      "request/header": 3,
      "sandbox/mode": 2,
      "session/end-seed": 1,
      "session/title": 2,
      "session/title-llm-request": 1,
      "step/end": 122,
      "step/start": 123,
      "text-delta": 7626,
      "todo/write": 2,
      "tool-call-delta": 29_465,
      "tool/call": 136,
      "tool/result": 135,
      "turn/end": 7,
      "turn/start": 8,
      usage: 123,
      "user/message": 12,
    });
    expect([EVENTS.length, FULL.batches, FULL.records.length]).toEqual([87_208, 3758, 5349]);
  });

  test("packs as the real one does", () => {
    const packed: Record<string, number> = {};
    for (const { type, count: members } of FULL.records) {
      if (isRunType(type)) packed[type] = (packed[type] ?? 0) + members;
    }
    expect(packed).toEqual({ "reasoning-chunks": 48_294, "tool-call-chunks": 29_343, "text-chunks": 7573 });
  });

  test("has about the bytes of the real one, whole and by delta", () => {
    const plain = EVENTS.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)) + 1, 0);
    const stored = FULL.records.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
    expect(plain / 16_686_414).toBeWithin(0.98, 1.02);
    expect(stored / 3_548_155).toBeWithin(0.96, 1.04);
    const bytes = { "reasoning-delta": 0, "text-delta": 0, "tool-call-delta": 0 };
    for (const event of EVENTS) {
      if (!isEvent(event, "assistant/chunk")) continue;
      const { chunk } = event.data;
      if (chunk.type === "tool-call-delta") bytes[chunk.type] += Buffer.byteLength(chunk.argumentsDelta);
      if (chunk.type === "text-delta" || chunk.type === "reasoning-delta")
        bytes[chunk.type] += Buffer.byteLength(chunk.text);
    }
    expect(bytes["reasoning-delta"] / 179_871).toBeWithin(0.94, 1.06);
    expect(bytes["text-delta"] / 28_006).toBeWithin(0.9, 1.1);
    expect(bytes["tool-call-delta"] / 97_071).toBeWithin(0.94, 1.06);
  });

  test("is a valid log: seqs in a row, times that do not run back, surface operations that fit", () => {
    EVENTS.forEach((event, seq) => {
      if (event.seq !== seq || event.time < (EVENTS[seq - 1]?.time ?? 0))
        throw new Error(`event ${seq} is out of order`);
    });
    const projections = new SessionProjections();
    for (const { text } of FULL.records)
      expect(projections.foldDecoded(decodeRecord(text, {}))).toBeUndefined();
    expect(projections.surface.seqs.length).toBe(123 + 135 + 12);
  });

  test("asks for tools with arguments that are JSON and the text of their deltas", () => {
    for (const event of EVENTS) {
      if (!isEvent(event, "tool/call")) continue;
      expect(JSON.parse(event.data.arguments)).toEqual({ command: expect.any(String) });
    }
    const deltas = new Map<string, string>();
    for (const event of EVENTS) {
      if (!isEvent(event, "assistant/chunk") || event.data.chunk.type !== "tool-call-delta") continue;
      const { id, argumentsDelta } = event.data.chunk;
      deltas.set(id, (deltas.get(id) ?? "") + argumentsDelta);
    }
    for (const event of EVENTS) {
      if (isEvent(event, "tool/call")) expect(deltas.get(event.data.callId)).toBe(event.data.arguments);
    }
  });

  test("breaks off in a tool call, which recovery answers", () => {
    expect(EVENTS.at(-1)?.type).toBe("tool/call");
    const closers = closeInterruptedTurn(
      new SessionProjections().catchUp(FULL.log).openWork,
      FULL.log.length,
    );
    expect(closers.map(({ type }) => type)).toEqual(["tool/result", "step/end", "turn/end"]);
    expect(closers[0]?.sourceEventSeqs).toEqual([EVENTS.length - 1]);
    expect(closers.at(-1)?.data).toMatchObject({ turn: 8 });
  });
});

describe("a seed", () => {
  test("gives the same session each time, and another seed another one", () => {
    const small = { steps: 12 };
    expect(digest({ ...small, seed: 3 })).toBe(digest({ ...small, seed: 3 }));
    expect(digest({ ...small, seed: 3 })).not.toBe(digest({ ...small, seed: 4 }));
  });

  test("does not change the counts", () => {
    const kinds = (seed: number) => count([...generateSession({ seed })].flat(), kindOf);
    expect(kinds(2)).toEqual(count(EVENTS, kindOf));
  });

  test("gives a header of its own", () => {
    expect(parseHeader(JSON.parse(serialiseHeader(workloadHeader(7))))).toEqual(workloadHeader(7));
    expect(workloadHeader(7).id).not.toBe(workloadHeader(8).id);
  });
});

describe("other sizes", () => {
  test.each([1, 5, 1000, 90_000])("exactly %d events", (events) => {
    let total = 0;
    for (const batch of generateSession({ seed: 5, events })) total += batch.length;
    expect(total).toBe(events);
  });

  test("a number of events is a prefix of more events", () => {
    const some = [...generateSession({ seed: 5, events: 700 })].flat();
    const more = [...generateSession({ seed: 5, events: 1400 })].flat();
    expect(JSON.stringify(more.slice(0, 700))).toBe(JSON.stringify(some));
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 3],
    [30, 2],
    [150, undefined],
  ])("%j Steps in %j Turns", (steps, turns) => {
    const { log } = pack({ seed: 9, steps, ...(turns === undefined ? {} : { turns }) });
    const counts = count(log, kindOf);
    expect(counts["step/start"]).toBe(steps);
    expect(counts["turn/start"]).toBe(turns ?? Math.round((150 * 8) / 123));
    expect(log.at(log.length - 1).type).toBe("tool/call");
  });

  test("a session that comes to its end has no open work", () => {
    const { log } = pack({ seed: 9, steps: 20, interrupted: false });
    const { openWork, messages } = closedState(log);
    expect(openWork.turn).toBeUndefined();
    expect(messages).toBeGreaterThan(20);
  });
});

function closedState(log: LogView) {
  const projections = new SessionProjections().catchUp(log);
  return { openWork: projections.openWork, messages: projections.messages(log, "s").length };
}
