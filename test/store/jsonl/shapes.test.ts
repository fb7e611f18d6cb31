import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { SessionEvent } from "../../../src/session/events.ts";
import { outcomesOf, title, titleAt } from "../../contract/support.ts";
import { turnStart } from "../../fixtures/event-drafts.ts";
import { buildLog, encodeBatch, eventText, headerText, titleText } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place, readLog } from "./place.ts";

/* What other programs, or older ones, write in files of this format: read, kept byte for byte, and gone on with. */

const USER_CONTENT = [{ type: "text", text: "hi" }];

/** Each log with the types that are read from it; all are open for more. */
const SHAPES: ReadonlyArray<readonly [string, readonly string[], readonly string[]]> = [
  [
    "extra members in known events",
    [
      '{"type":"session/title","seq":0,"time":1,"data":{"n":1,"later":[1.50,12345678901234567890]},"extra":{"a":null}}',
      '{"extra":true,"type":"turn/start","seq":1,"time":1,"data":{"turn":1,"later":"\\u00e9"}}',
      '{"type":"turn/end","seq":2,"time":1,"data":{"turn":1,"reason":{"kind":"completed","later":{}}}}',
    ],
    ["session/title", "turn/start", "turn/end"],
  ],
  [
    "members in another order, and spaces",
    ['{ "data" : null , "time" : 5, "seq":0,\t"type":"session/title" }'],
    ["session/title"],
  ],
  [
    "messages without ids, as older programs wrote them",
    [
      eventText(0, turnStart(1)),
      eventText(1, {
        type: "user/message",
        data: { content: USER_CONTENT, source: { kind: "user" } },
        surfaceOp: "append",
      }),
      '{"type":"turn/end","seq":2,"time":1002,"data":{"turn":1,"reason":{"kind":"completed"}}}',
    ],
    ["turn/start", "user/message", "turn/end"],
  ],
  [
    "runs of one and of two, which are read but not written",
    [
      '{"type":"text-chunks","seq0":0,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}',
      '{"type":"reasoning-chunks","seq0":1,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[-4],"texts":["b","c"]}}',
      '{"type":"tool-call-chunks","seq0":3,"time0":9,"data":{"turn":1,"step":1,"index":1,"dt":[0],"id":"c","args":["{","}"]}}',
    ],
    Array<string>(5).fill("assistant/chunk"),
  ],
  [
    "clocks that run backwards",
    [
      titleText(0),
      '{"type":"session/title","seq":1,"time":3,"data":1}',
      '{"type":"session/title","seq":2,"time":0,"data":1}',
    ],
    ["session/title", "session/title", "session/title"],
  ],
  [
    "an unknown type that may be ignored",
    ['{"type":"future/event","seq":0,"time":1,"data":{"a":1},"ignorable":true}', titleText(1)],
    ["future/event", "session/title"],
  ],
];

for (const encoding of ENCODINGS) {
  describe(`a log of another writer, encoding ${encoding}`, () => {
    test.each(SHAPES)("is read, kept and gone on with: %s", async (_, texts, types) => {
      using place = new Place();
      const { bytes } = buildLog(
        "s",
        encoding,
        texts.map((text) => [text]),
      );
      const path = place.put("s", encoding, bytes);
      {
        await using store = await place.open();
        const { log, torn } = await store.inspect("s");
        expect([log.slice(0, types.length).map(({ type }) => type), torn]).toEqual([[...types], false]);
        expect(readFileSync(path).equals(bytes)).toBe(true);
        await store.append("s", [titleAt(types.length)]);
      }
      await using store = await place.read();
      const records = [];
      for await (const page of (await store.stream("s")).pages)
        records.push(...page.map(({ record }) => record.text));
      expect(records).toEqual([...texts, JSON.stringify(titleAt(types.length))]);
      expect(readFileSync(path).subarray(0, bytes.length).equals(bytes)).toBe(true);
    });

    test.each([
      ["members that nobody knows", { later: { deep: [1] }, zeta: null }],
      ["a folder of another system", { cwd: "C:\\work\\x" }],
      ["a relative folder", { cwd: "work" }],
      [
        "an origin, a parent and a depth",
        { origin: "subagent", parentSession: "p", seedLength: 1, delegationDepth: 3 },
      ],
      ["no depth", { delegationDepth: undefined }],
      ["no kind", { type: undefined }],
    ])("may have a header with %s, which stays as it is", async (_, more) => {
      using place = new Place();
      const text = headerText("s", more);
      const [first, second] = [encodeBatch([text], encoding), encodeBatch([titleText(0)], encoding)];
      const path = place.put("s", encoding, Buffer.concat([first, second]));
      {
        await using store = await place.open();
        expect((await store.stream("s")).headerText).toBe(text);
        const { later: _later, zeta: _zeta, ...known } = { later: 0, zeta: 0, ...more };
        expect((await store.inspect("s")).header).toMatchObject(JSON.parse(JSON.stringify(known)));
        await using session = (await store.prepare("s")).publish();
        await session.log.append(title(1));
      }
      expect(readFileSync(path).subarray(0, first.length).equals(first)).toBe(true);
      await using store = await place.read();
      const [listed] = (await store.list()).items;
      expect([listed?.id, listed?.problem]).toEqual(["s", undefined]);
      expect((await readLog(store, "s")).texts.length).toBe(2);
    });

    test("is found in whatever project it lies, and stays there", async () => {
      using place = new Place();
      const path = place.put(
        "s",
        encoding,
        buildLog("s", encoding, [[titleText(0)]]).bytes,
        "anything at all",
      );
      await using store = await place.open();
      await store.append("s", [titleAt(1)]);
      expect((await store.list()).items.map(({ location }) => location)).toEqual([path]);
      expect(Object.keys(place.contents()).filter((name) => name.endsWith(LOG_NAMES[encoding]))).toHaveLength(
        1,
      );
    });

    test("may lie flat in its project, and is gone on with there", async () => {
      using place = new Place();
      const path = join(place.root, "--p--", LOG_NAMES[encoding].replace("session", "s~0020t"));
      place.file(path, buildLog("s t", encoding, [[titleText(0)]]).bytes);
      await using store = await place.open();
      expect((await store.list()).items).toMatchObject([{ id: "s t", location: path }]);
      await store.append("s t", [titleAt(1)]);
      expect((await readLog(store, "s t")).texts).toEqual([titleText(0), JSON.stringify(titleAt(1))]);
    });
  });
}

test("a byte-order mark before the header of a plain log is no part of it, and stays", async () => {
  using place = new Place();
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const { bytes } = buildLog("s", "none", [[titleText(0)], [titleText(1)]]);
  const path = place.put("s", "none", Buffer.concat([mark, bytes]));
  {
    await using store = await place.open();
    expect((await store.stream("s")).headerText).toBe(headerText("s"));
    expect((await store.list()).items).toMatchObject([{ id: "s", header: { id: "s" } }]);
    expect((await store.readFrom("s", 1)).map(({ seq }) => seq)).toEqual([1]);
    await store.append("s", [titleAt(2)]);
  }
  expect(readFileSync(path).subarray(0, 3).equals(mark)).toBe(true);
  await using store = await place.read();
  expect((await readLog(store, "s")).texts.length).toBe(3);
});

test("a root holds both encodings side by side; each log keeps its own, a new one gets what it is told", async () => {
  using place = new Place();
  const events = (id: string, encoding: "zstd" | "none") =>
    buildLog(id, encoding, [[titleText(0)], [titleText(1)]]).bytes;
  place.put("framed", "zstd", events("framed", "zstd"));
  place.put("plain", "none", events("plain", "none"));
  const expected: SessionEvent[] = [titleAt(0), titleAt(1)].map((event, seq) => ({
    ...event,
    time: 1_000 + seq,
  }));
  for (const encoding of ENCODINGS) {
    await using store = await place.open(encoding);
    for (const id of ["framed", "plain"]) {
      const { log } = await store.inspect(id);
      expect(log.slice(0, 2)).toEqual(expected);
      await store.append(id, [titleAt(log.length)]);
    }
    await using session = await store.create({ version: 0, id: `new-${encoding}`, createdAt: 1, cwd: "/p" });
    await session.log.append(title(0));
    expect(Object.keys(place.contents())).toContain(join("--p--", `new-${encoding}`, LOG_NAMES[encoding]));
  }
  await using store = await place.read();
  expect((await store.list()).items.map(({ id, problem }) => [id, problem])).toEqual(
    ["framed", "new-none", "new-zstd", "plain"].map((id) => [id, undefined]),
  );
  expect((await store.inspect("framed")).log.length).toBe(4);
});

test("a project may be a link to a folder elsewhere, and so may a session's folder", async () => {
  using place = new Place();
  const elsewhere = join(place.folder, "elsewhere");
  for (const id of ["s", "t"])
    place.put(id, "zstd", buildLog(id, "zstd", [[titleText(0)]]).bytes, `--${id}--`);
  mkdirSync(elsewhere);
  renameSync(join(place.root, "--s--"), join(elsewhere, "project"));
  symlinkSync(join(elsewhere, "project"), join(place.root, "--s--"));
  renameSync(join(place.root, "--t--/t"), join(elsewhere, "t"));
  symlinkSync(join(elsewhere, "t"), join(place.root, "--t--/t"));
  await using store = await place.open();
  expect((await store.list()).items.map(({ id, problem }) => [id, problem])).toEqual([
    ["s", undefined],
    ["t", undefined],
  ]);
  for (const id of ["s", "t"]) {
    await store.append(id, [titleAt(1)]);
    expect((await readLog(store, id)).texts.length).toBe(2);
  }
});

describe("a later format beside a log", () => {
  test.each(ENCODINGS)(
    "is listed as unsupported, the log is read and written, and it is never touched: %s",
    async (encoding) => {
      const later = ["session.v3.jsonl.zstd", "session.v4.jsonl"];
      using place = new Place();
      place.put("s", encoding, buildLog("s", encoding, [[titleText(0)], [titleText(1)]]).bytes);
      for (const name of later) place.file(join(place.root, "--p--/s", name), `bytes of ${name}`);
      const laterOf = (contents: Record<string, string>) => later.map((name) => contents[`--p--/s/${name}`]);
      const before = laterOf(place.contents());
      await using store = await place.open();
      const items = (await store.list()).items.filter(({ id }) => id === "s");
      expect(items.map(({ problem }) => problem?.state).toSorted()).toEqual([
        "unsupported",
        "unsupported",
        undefined,
      ]);
      expect(
        items.flatMap(({ problem }) => /version \d+/.exec(problem?.reason ?? "") ?? []).toSorted(),
      ).toEqual(["version 3", "version 4"]);
      await store.append("s", [titleAt(2)]);
      expect((await store.load("s")).log.length).toBe(3);
      await store.delete("s");
      expect(laterOf(place.contents())).toEqual(before);
      expect(await outcomesOf([store.stream("s")])).toEqual(["unsupported-format"]);
    },
  );
});
