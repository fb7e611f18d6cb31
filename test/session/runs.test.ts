import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type DeltaRun,
  decodeRun,
  encodeRun,
  exactDelta,
  expandRun,
  isRunType,
  lastTime,
  memberTexts,
  RUN_TYPE_OF,
  type RunType,
} from "../../src/session/runs.ts";
import { oddString } from "../fixtures/arbitraries.ts";

const TEXT_ROW = {
  type: "text-chunks",
  seq0: 5,
  time0: 100,
  data: { turn: 1, step: 2, index: 0, dt: [3, -7], texts: ["a", "", "c"] },
};
const CALL_ROW = {
  type: "tool-call-chunks",
  seq0: 5,
  time0: 100,
  data: { turn: 1, step: 2, index: 0, dt: [0], id: "c", name: "n", args: ["{", "}"] },
};

function decode(row: Readonly<Record<string, unknown>>): DeltaRun | string {
  const type = String(row["type"]);
  if (!isRunType(type)) throw new Error(`${type} is no run type`);
  return decodeRun(type, row);
}

const run: fc.Arbitrary<DeltaRun> = fc
  .record({
    kind: fc.constantFrom("text-delta" as const, "reasoning-delta" as const, "tool-call-delta" as const),
    turn: fc.nat(9),
    step: fc.nat(9),
    index: fc.nat(9),
    id: oddString().map((text) => `call${text}`),
    name: fc.option(oddString(), { nil: undefined }),
    seq0: fc.nat(1e6),
    time0: fc.integer({ min: 1e6, max: 2e12 }),
    members: fc.array(fc.record({ text: oddString(), gap: fc.integer({ min: -100, max: 5000 }) }), {
      minLength: 1,
      maxLength: 9,
    }),
  })
  .map(({ members, id, name, ...key }) => ({
    ...key,
    ...(key.kind === "tool-call-delta" ? { id, ...(name === undefined ? {} : { name }) } : {}),
    dt: members.slice(1).map(({ gap }) => gap),
    texts: members.map(({ text }) => text),
  }));

describe("a run", () => {
  test("is decoded as it was encoded", () => {
    fc.assert(
      fc.property(run, (value) => {
        const row: Readonly<Record<string, unknown>> = JSON.parse(encodeRun(value));
        expect(row["type"]).toBe(RUN_TYPE_OF[value.kind]);
        expect(decode(row)).toEqual(value);
      }),
    );
  });

  test("expands to one frozen event a member, with seqs in a row and times that add up the gaps", () => {
    fc.assert(
      fc.property(run, (value) => {
        const events = expandRun(value);
        expect(events.map(({ seq }) => seq)).toEqual(value.texts.map((_, k) => value.seq0 + k));
        events.forEach((event, k) => {
          const passed = value.dt.slice(0, k).reduce((sum, gap) => sum + gap, 0);
          expect(event.time).toBe(value.time0 + passed);
          expect(
            Object.isFrozen(event) && Object.isFrozen(event.data) && Object.isFrozen(event.data.chunk),
          ).toBe(true);
          expect(exactDelta(event.data)?.text).toBe(value.texts[k]);
        });
        expect(lastTime(value)).toBe(events.at(-1)?.time ?? -1);
        expect(memberTexts(value)).toEqual(events.map((event) => JSON.stringify(event)));
      }),
    );
  });

  test("has the keys of the format in its order", () => {
    for (const row of [TEXT_ROW, CALL_ROW]) {
      const value = decode(row);
      expect(typeof value === "string" ? value : encodeRun(value)).toBe(JSON.stringify(row));
    }
  });

  test("expands to events with the keys of the format in its order", () => {
    const value = decode(CALL_ROW);
    expect(typeof value === "string" ? value : JSON.stringify(expandRun(value)[1])).toBe(
      '{"type":"assistant/chunk","seq":6,"time":100,"data":{"turn":1,"step":2,"chunk":' +
        '{"type":"tool-call-delta","index":0,"id":"c","name":"n","argumentsDelta":"}"}}}',
    );
  });

  test("may have gaps below zero", () => {
    const value = decode(TEXT_ROW);
    expect(typeof value === "string" ? value : expandRun(value).map(({ time }) => time)).toEqual([
      100, 103, 96,
    ]);
  });

  test("is read from one member on", () => {
    expect(decode({ ...TEXT_ROW, data: { ...TEXT_ROW.data, dt: [], texts: ["a"] } })).toMatchObject({
      texts: ["a"],
    });
  });
});

describe("a malformed row is refused, naming the member", () => {
  const text = (data: object) => ({ ...TEXT_ROW, data: { ...TEXT_ROW.data, ...data } });
  const call = (data: object) => ({ ...CALL_ROW, data: { ...CALL_ROW.data, ...data } });

  test.each<[member: string, row: Readonly<Record<string, unknown>>]>([
    ["seq0", { ...TEXT_ROW, seq0: -1 }],
    ["seq0", { ...TEXT_ROW, seq0: "5" }],
    ["seq0", { ...TEXT_ROW, seq0: Number.MAX_SAFE_INTEGER - 1 }],
    ["time0", { ...TEXT_ROW, time0: 1.5 }],
    ["time0", { type: "text-chunks", seq0: 0, data: TEXT_ROW.data }],
    ["data", { ...TEXT_ROW, data: [] }],
    ["data", { ...TEXT_ROW, data: null }],
    ["ignorable", { ...TEXT_ROW, ignorable: true }],
    ["surfaceOp", { ...TEXT_ROW, surfaceOp: "append" }],
    ["data.turn", text({ turn: null })],
    ["data.step", text({ step: -0 })],
    ["data.index", text({ index: 2 ** 53 })],
    ["data.extra", text({ extra: 1 })],
    [
      "data.__proto__",
      { ...TEXT_ROW, data: JSON.parse('{"turn":1,"step":2,"index":0,"dt":[],"texts":["a"],"__proto__":1}') },
    ],
    ["data.texts", text({ texts: [] })],
    ["data.texts", text({ texts: ["a", 1, "c"] })],
    ["data.texts", text({ texts: { length: 3 } })],
    ["data.texts", text({ texts: undefined })],
    ["data.dt", text({ dt: [1] })],
    ["data.dt", text({ dt: [1, 2, 3] })],
    ["data.dt", text({ dt: [1, 0.5] })],
    ["data.dt", text({ dt: [1, null] })],
    ["data.dt", text({ dt: "12" })],
    ["data.dt", text({ dt: [-101, 200] })],
    ["data.dt", text({ dt: [Number.MAX_SAFE_INTEGER, 0] })],
    ["data.id", text({ id: "c" })],
    ["data.id", text({ args: [] })],
    ["data.args", call({ args: undefined })],
    ["data.args", call({ args: ["{", {}] })],
    ["data.texts", call({ texts: ["a", "b"] })],
    ["data.id", call({ id: "" })],
    ["data.id", call({ id: undefined })],
    ["data.name", call({ name: 4 })],
  ])("%s (%#)", (member, row) => {
    expect(decode(row)).toBe(member);
  });
});

describe("only exact shapes are deltas that pack", () => {
  const text = { type: "text-delta", index: 0, text: "a" };
  const call = { type: "tool-call-delta", index: 0, id: "c", argumentsDelta: "{" };
  const data = (chunk: unknown) => ({ turn: 1, step: 1, chunk });

  test.each([
    ["text", data(text)],
    ["reasoning", data({ ...text, type: "reasoning-delta" })],
    ["a call", data(call)],
    [
      "a call with its name",
      data({ type: "tool-call-delta", index: 0, id: "c", name: "", argumentsDelta: "{" }),
    ],
  ])("%s packs", (_name, value) => {
    expect(exactDelta(value)).toBeDefined();
  });

  test.each<[name: string, value: unknown]>([
    ["null", null],
    ["a text", "text"],
    ["an extra key in data", { ...data(text), extra: 1 }],
    ["an extra key in the chunk", data({ ...text, extra: 1 })],
    ["a symbol key in the chunk", data({ ...text, [Symbol("s")]: 1 })],
    ["a hidden key in the chunk", data(Object.defineProperty({ ...text }, "hidden", { value: 1 }))],
    ["another key order in data", { step: 1, turn: 1, chunk: text }],
    ["another key order in the chunk", data({ type: "text-delta", text: "a", index: 0 })],
    ["a name behind the arguments", data({ ...call, name: "n" })],
    [
      "a name that is undefined",
      data({ type: "tool-call-delta", index: 0, id: "c", name: undefined, argumentsDelta: "{" }),
    ],
    ["no text", data({ type: "text-delta", index: 0 })],
    ["a text that is no string", data({ ...text, text: 1 })],
    ["an index that is no integer", data({ ...text, index: 0.5 })],
    ["an index of -0", data({ ...text, index: -0 })],
    ["a negative Turn", { turn: -1, step: 1, chunk: text }],
    ["a Step beyond the safe integers", { turn: 1, step: 2 ** 53, chunk: text }],
    ["an empty call id", data({ ...call, id: "" })],
    ["another kind of chunk", data({ type: "block-start", index: 0, blockType: "text" })],
    ["a prototype of its own", Object.assign(Object.create({ turn: 1 }), data(text))],
    ["a chunk with a prototype of its own", data(Object.assign(Object.create({}), text))],
  ])("%s does not pack", (_name, value) => {
    expect(exactDelta(value)).toBeUndefined();
  });
});

test("the names of the run types are those three", () => {
  const names: readonly RunType[] = ["text-chunks", "reasoning-chunks", "tool-call-chunks"];
  expect(names.every(isRunType)).toBe(true);
  for (const other of ["assistant/chunk", "chunks", "constructor", ""]) expect(isRunType(other)).toBe(false);
});
