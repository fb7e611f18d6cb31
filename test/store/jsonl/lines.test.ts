import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { titleAt } from "../../contract/support.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { buildLog, encodeBatch, eventText, frameOf, headerText, textsOf, titleText } from "./log-bytes.ts";
import { LOG_NAMES, Place, readLog } from "./place.ts";
import { expectRefused } from "./refusal.ts";

/** Two Turns; the second one is open in `OPEN`, and ended in `CLOSED`. */
const FIRST = textsOf([[turnStart(1), userMessage("one"), turnEnd(1)]]).flat();
const SECOND = [eventText(3, turnStart(2)), eventText(4, userMessage("two"))];
const OPEN = [...FIRST, ...SECOND];
const END = eventText(5, turnEnd(2));
const SPEAKS_OF_AN_END = eventText(5, userMessage('{"type":"turn/end","seq":6}\\n{"type":"turn/end"}'));
const QUOTES_AN_END = `{"type":"session/title","seq":5,"time":1,"data":{"type":"turn/end"}}`;

function plainLog(lines: readonly string[]): Buffer {
  return encodeBatch([headerText("s"), ...lines], "none");
}

/** Lines that are not what must come next, and that a crash may have left. */
const BAD: ReadonlyArray<readonly [string, readonly string[]]> = [
  ["no JSON", ["{"]],
  ["half a line", [SECOND[0]?.slice(0, 20) ?? ""]],
  ["two lines in one", [`${titleText(5).slice(0, 25)}${titleText(5)}`]],
  ["an empty line", [""]],
  ["zeros", ["\0\0\0\0"]],
  ["a byte-order mark", [`\ufeff${titleText(5)}`]],
  ["JSON that is no object", ["[5]"]],
  ["an object without a type", ['{"seq":5}']],
  ["a seq that is missing", [titleText(6)]],
  ["a line that stands twice", [SECOND[1] ?? ""]],
  ["a second branch", [titleText(4), titleText(5), titleText(6)]],
  ["the log from its start once more", FIRST.slice(0, 2)],
  ["a gap, and then more", [titleText(7), titleText(8), titleText(9)]],
  ["a run with a gap before it", [runText(6)]],
];

function runText(seq0: number, texts: readonly unknown[] = ["a", "b", "c"]): string {
  return JSON.stringify({
    type: "text-chunks",
    seq0,
    time0: 1,
    data: { turn: 1, step: 1, index: 0, dt: [1, 1], texts },
  });
}

/** In their place and whole, so that somebody wrote them like this: nothing that may be set aside. */
const WRONG: ReadonlyArray<readonly [string, string]> = [
  ["data of the wrong shape", eventText(5, { type: "turn/start", data: { turn: "x" } })],
  ["no time", '{"type":"session/title","seq":5,"data":1}'],
  ["no data", '{"type":"turn/start","seq":5,"time":1}'],
  ["a number that JSON loses", '{"type":"session/title","seq":5,"time":1,"data":1e999}'],
  ["a run with fewer gaps than it needs", runText(5, ["a", "b", "c", "d"])],
  ["a run with a member that is no text", runText(5, ["a", 1, "c"])],
  ["a type that is none", '{"type":5,"seq":5,"time":1,"data":1}'],
  [
    "an unknown surface operation",
    '{"type":"user/message","seq":5,"time":1,"data":{},"surfaceOp":"prepend"}',
  ],
];

describe("a plain line that is not what must come next", () => {
  test.each(BAD)("in the last Turn begins a torn tail: %s", async (_, bad) => {
    for (const after of [[], [SPEAKS_OF_AN_END], [QUOTES_AN_END], [titleText(5), titleText(6)]]) {
      using place = new Place();
      const bytes = plainLog([...OPEN, ...bad, ...after]);
      const path = place.put("s", "none", bytes);
      const offset = plainLog(OPEN).length;
      {
        await using store = await place.open();
        expect(await readLog(store, "s")).toEqual({ texts: OPEN, torn: true });
        const { log } = await store.load("s");
        expect([...log.texts(0, OPEN.length)]).toEqual(OPEN);
        expect(log.slice(OPEN.length).map(({ type }) => type)).toEqual(["turn/end"]);
        const name = readdirSync(dirname(path)).find((other) => other !== LOG_NAMES.none) ?? "";
        expect(name).toBe(`${LOG_NAMES.none}.torn-${offset}`);
        expect(readFileSync(join(dirname(path), name)).equals(bytes.subarray(offset))).toBe(true);
        expect(readFileSync(path).subarray(0, offset).equals(bytes.subarray(0, offset))).toBe(true);
        await store.append("s", [titleAt(log.length)]);
      }
      await using store = await place.read();
      expect(await readLog(store, "s")).toMatchObject({ torn: false, texts: { length: OPEN.length + 2 } });
    }
  });

  test.each(BAD)("before the end of a Turn is corruption: %s", async (_, bad) => {
    for (const after of [[END], [titleText(5), END], [END, titleText(6), "{"]]) {
      using place = new Place();
      const path = place.put("s", "none", plainLog([...OPEN, ...bad, ...after]));
      await using store = await place.open();
      const at = { path, sessionId: "s", offset: plainLog(OPEN).length };
      await expectRefused(place, store, "s", OPEN, { code: "corrupt", place: at });
    }
  });

  test("is told by the seq that was expected", async () => {
    using place = new Place();
    place.put("s", "none", plainLog([...OPEN, titleText(6), END]));
    await using store = await place.read();
    expect((await readLog(store, "s")).fault).toMatchObject({
      code: "corrupt",
      expected: "seq 5",
      found: "seq 6",
      place: { seq: 5 },
    });
  });

  test.each(WRONG)("but whole and in its place is corruption wherever it stands: %s", async (_, wrong) => {
    for (const after of [[], [titleText(6)], [END]]) {
      using place = new Place();
      const path = place.put("s", "none", plainLog([...OPEN, wrong, ...after]));
      await using store = await place.open();
      const at = { path, sessionId: "s", offset: plainLog(OPEN).length };
      await expectRefused(place, store, "s", OPEN, { code: "corrupt", place: at });
    }
  });

  test("is torn without its line feed, however whole it is", async () => {
    using place = new Place();
    for (const [, text] of [...WRONG, ["whole", END] as const]) {
      place.put("s", "none", plainLog([...OPEN, text]).subarray(0, -1));
      await using store = await place.read();
      expect(await readLog(store, "s")).toEqual({ texts: OPEN, torn: true });
    }
  });

  test("hides behind what is no line feed: U+2028, U+0085 and carriage returns are content", async () => {
    using place = new Place();
    const odd = ["\u2028", "\u2029", "\u0085", "a\rb"].map((data, k) => titleText(5 + k, `${data}|${data}`));
    // Literally in the line, as JSON.stringify leaves all but the last of them.
    const lines = [...OPEN, ...odd, `${titleText(9)}\r`];
    place.put("s", "none", plainLog(lines));
    await using store = await place.read();
    const { texts, torn, fault } = await readLog(store, "s");
    expect([texts.map((text) => text.trimEnd()), torn, fault]).toEqual([
      lines.map((text) => text.trimEnd()),
      false,
      undefined,
    ]);
  });
});

describe("a whole frame with a bad line", () => {
  test.each([...BAD, ...WRONG.map(([what, text]) => [what, [text]] as const)])(
    "is corruption, also where it is the last one: %s",
    async (_, bad) => {
      for (const before of [[], [titleText(5)]]) {
        // What follows a good line must be wrong in its new place, too.
        const moved = (text: string) =>
          text.replace(
            /"(seq0?)":([56])/,
            (_line, key: string, seq: string) => `"${key}":${seq === "5" ? 6 : 9}`,
          );
        const lines = before.length > 0 ? bad.map(moved) : bad;
        using place = new Place();
        const { bytes } = buildLog("s", "zstd", [FIRST, SECOND]);
        const path = place.put(
          "s",
          "zstd",
          Buffer.concat([bytes, frameOf(`${[...before, ...lines].join("\n")}\n`)]),
        );
        await using store = await place.open();
        const { texts } = await readLog(store, "s");
        expect(texts.slice(0, OPEN.length + before.length)).toEqual([...OPEN, ...before]);
        const at = { path, sessionId: "s", row: 4 };
        await expectRefused(place, store, "s", texts, { code: "corrupt", place: at });
      }
    },
  );

  test.each([
    ["a line without its end", `${titleText(5)}\n${titleText(6)}`, 1],
    ["no line at all", "", 0],
    ["bytes that are no UTF-8", Buffer.concat([Buffer.from('{"type":"'), Buffer.from([0xff, 0x0a])]), 0],
  ])("is corruption: %s", async (_, content, good) => {
    for (const more of [[], [frameOf(`${titleText(5 + good)}\n`)]]) {
      using place = new Place();
      const { bytes } = buildLog("s", "zstd", [FIRST, SECOND]);
      const path = place.put("s", "zstd", Buffer.concat([bytes, frameOf(content), ...more]));
      await using store = await place.open();
      const at = { path, sessionId: "s", row: 4 };
      const texts = [...OPEN, ...(good > 0 ? [titleText(5)] : [])];
      await expectRefused(place, store, "s", texts, { code: "corrupt", place: at });
    }
  });

  test.each([0, 1, 2])(
    "is told by where the frame begins, however many lines before it are good: %d",
    async (good) => {
      using place = new Place();
      const { bytes } = buildLog("s", "zstd", [FIRST, SECOND]);
      const lines = [...Array.from({ length: good }, (_, k) => titleText(5 + k)), titleText(99)];
      place.put("s", "zstd", Buffer.concat([bytes, frameOf(`${lines.join("\n")}\n`)]));
      await using store = await place.read();
      const { fault } = await readLog(store, "s");
      expect(fault).toMatchObject({
        code: "corrupt",
        place: { row: 4, seq: 5 + good, offset: bytes.length },
      });
    },
  );
});
