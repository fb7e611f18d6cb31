import { describe, expect, test } from "bun:test";
import { decodeRecord } from "../../../src/session/records.ts";
import { type Ordered, SeqOrder } from "../../../src/session/salvage/order.ts";
import { DAMAGE } from "../../fixtures/salvaging.ts";

/** One stored record: its first seq, and what tells it from another of that seq; a run when it has several texts. */
type Stored = number | readonly [seq: number, ...texts: readonly string[]] | "damage";

function textOf(stored: Exclude<Stored, "damage">): string {
  const [seq, ...texts] = typeof stored === "number" ? [stored, ""] : stored;
  const [only = ""] = texts;
  if (texts.length === 1) return JSON.stringify({ type: "session/title", seq, time: 1, data: only });
  const data = { turn: 1, step: 1, index: 0, dt: texts.slice(1).map(() => 0), texts };
  return JSON.stringify({ type: "text-chunks", seq0: seq, time0: 1, data });
}

function show(item: Ordered): string {
  switch (item.kind) {
    case "record":
      return `${item.decoded.record.seq}`;
    case "aside":
      return `${item.reason} ${item.record.seq}`;
    case "gap":
      return `gap ${item.from}-${item.to - 1}`;
    case "damage":
      return "damage";
  }
}

/** What comes out, and how many events were there twice or not at all. */
function ordered(...stored: readonly Stored[]): { out: string[]; repeated: number; missing: number } {
  const order = new SeqOrder();
  const out = stored.flatMap((item) =>
    item === "damage" ? order.damage(DAMAGE) : order.take(decodeRecord(textOf(item), {})),
  );
  const shown = [...out, ...order.end()].map(show);
  return { out: shown, repeated: order.repeated, missing: order.missing };
}

describe("records in order", () => {
  test("come as they are", () => {
    expect(ordered(0, 1, [2, "a", "b", "c"], 5)).toEqual({
      out: ["0", "1", "2", "5"],
      repeated: 0,
      missing: 0,
    });
  });

  test("may begin anywhere, and have gaps, with the damage where it is", () => {
    expect(ordered(3, 4, "damage", 7, 8, "damage")).toEqual({
      out: ["gap 0-2", "3", "4", "damage", "gap 5-6", "7", "8", "damage"],
      repeated: 0,
      missing: 5,
    });
  });
});

describe("a jump ahead", () => {
  test("is not believed when the log goes on below", () => {
    expect(ordered(0, 1, 9002, 3, 4).out).toEqual(["0", "1", "order 9002", "gap 2-2", "3", "4"]);
  });

  test("is believed when the log goes on behind it, and at the end", () => {
    expect(ordered(0, 5, 6, 9).out).toEqual(["0", "gap 1-4", "5", "6", "gap 7-8", "9"]);
  });

  test("over what then comes is put right", () => {
    expect(ordered(0, 2, 1, 3)).toEqual({ out: ["0", "1", "2", "3"], repeated: 0, missing: 0 });
    expect(ordered(0, 3, "damage", 1, 2, 4).out).toEqual(["0", "1", "2", "3", "damage", "4"]);
  });
});

describe("a seq that was there before", () => {
  test("with the same event is dropped and counted, also in another packing", () => {
    const run: Stored = [1, "a", "b", "c"];
    expect(ordered(0, run, 0, run, 4)).toEqual({ out: ["0", "1", "4"], repeated: 4, missing: 0 });
  });

  test("begins another branch, which goes on where it goes on", () => {
    expect(ordered(0, 1, 2, [1, "x"], [2, "x"], [3, "x"], [4, "x"], 3, 4)).toEqual({
      out: ["0", "1", "2", "branch 1", "branch 2", "branch 3", "branch 4", "3", "4"],
      repeated: 0,
      missing: 0,
    });
  });

  test("with one event changed costs that event alone", () => {
    expect(ordered(0, 1, 2, 3, [1, "flipped"], 5, 6).out).toEqual([
      "0",
      "1",
      "2",
      "3",
      "branch 1",
      "gap 4-4",
      "5",
      "6",
    ]);
  });

  test("in a run of which a part is new gives that part", () => {
    expect(ordered([0, "a", "b", "c"], [1, "b", "c", "d"], 4)).toEqual({
      out: ["0", "3", "4"],
      repeated: 2,
      missing: 0,
    });
  });

  test("that came as another branch twice is kept once", () => {
    expect(ordered(0, 1, [0, "x"], [0, "x"])).toEqual({
      out: ["0", "1", "branch 0"],
      repeated: 1,
      missing: 0,
    });
  });

  test("and was missing until then is kept, and is not missing any more", () => {
    expect(ordered(0, 5, 6, [2, "a", "b", "c"], 7)).toEqual({
      out: ["0", "gap 1-4", "5", "6", "order 2", "7"],
      repeated: 0,
      missing: 1,
    });
  });
});
