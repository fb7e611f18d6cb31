import { describe, expect, test } from "bun:test";
import { encodeEvent } from "../../src/session/encoding.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { decodeRecord, recordTexts } from "../../src/session/records.ts";
import { copySession } from "../../src/store/copy.ts";
import { openMemory } from "../../src/store/memory/index.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { deltas, outcomesOf, title } from "../contract/support.ts";
import { toEvents, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { Place, put } from "./sqlite/place.ts";

const HEADER = '{"version":0,"id":"s","createdAt":1,"future":{"n":12}}';
const TURN: readonly EventDraft[] = [turnStart(1), userMessage("Go on."), ...deltas(20)];

function memory(): SessionPersistence {
  return openMemory({ clock: () => 0, chunkWindowMs: 0 });
}

/** A store with the session `s`, made of these texts. */
async function holding(texts: readonly string[], header = HEADER): Promise<SessionPersistence> {
  const store = memory();
  await store.importRecords(
    header,
    texts.map((text) => decodeRecord(text, {}).record),
  );
  return store;
}

/** The texts of drafts, committed in batches of these sizes. */
function textsOf(drafts: readonly EventDraft[], ...sizes: number[]): string[] {
  return recordsOf(toEvents(drafts), sizes.length === 0 ? undefined : sizes).map(({ text }) => text);
}

/** Each record of a session as it is stored. */
async function recordsIn(store: SessionPersistence, id = "s"): Promise<string[]> {
  const texts: string[] = [];
  for await (const page of (await store.stream(id)).pages)
    texts.push(...page.map(({ record }) => record.text));
  return texts;
}

/** The text of each event of a session. */
async function eventsIn(store: SessionPersistence, id = "s"): Promise<string[]> {
  return (await recordsIn(store, id)).flatMap((text) => recordTexts(decodeRecord(text, {}).record));
}

function sha256(texts: readonly string[]): string {
  return new Bun.CryptoHasher("sha256").update(texts.join("\n")).digest("hex");
}

/** A store with some of its methods replaced. */
function replacing(
  store: SessionPersistence,
  methods: Partial<Pick<SessionPersistence, "stream" | "importRecords">>,
): SessionPersistence {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("a copy", () => {
  test("is the same session, record for record and byte for byte", async () => {
    const texts = [
      '{"seq":0,"type":"session/title","data":{"n":12345678901234567890,"é":"\\u00e9\\ud800"},"time":7,"x":1.50}',
      '{ "type" : "future/event", "seq" : 1, "time" : 7, "data" : "\\/\u2028" }',
      '{"type":"turn/start","seq":2,"time":3,"data":{"turn":1,"trigger":{"kind":"user"}}}',
      ...recordsOf(toEvents(deltas(40), 0, 3)).map(({ text }) => text),
    ];
    await using source = await holding(texts);
    await using target = memory();
    expect(await copySession(source, target, "s")).toEqual({
      id: "s",
      state: "copied",
      events: 43,
      written: 43,
      digest: sha256(await eventsIn(source)),
      torn: false,
    });
    expect(await recordsIn(target)).toEqual(texts);
    expect((await target.stream("s")).headerText).toBe(HEADER);
  });

  test("is made between stores of different kinds, on the disk as well", async () => {
    using place = new Place();
    await using source = await holding(textsOf(TURN));
    await using target = await place.open(place.path, "worker");
    expect(await copySession(source, target, "s")).toMatchObject({ state: "copied" });
    expect(await recordsIn(target)).toEqual(await recordsIn(source));
  });

  test("has no closers where the last Turn is open: the source may be going on", async () => {
    await using source = await holding(textsOf(TURN));
    await using target = memory();
    await copySession(source, target, "s");
    const { closers, log } = await target.inspect("s");
    expect({ closers: closers.length, stored: log.length - closers.length }).toEqual({
      closers: 1,
      stored: 22,
    });
  });

  test("of a session that is not there fails as not found", async () => {
    await using source = memory();
    await using target = memory();
    const result = await copySession(source, target, "s");
    expect(result).toMatchObject({ state: "failed", error: { code: "not-found" } });
  });

  test("of a session that goes on meanwhile is what it was at first, and the next copy adds the rest", async () => {
    await using source = await holding(textsOf([title(0), title(1)]));
    let streams = 0;
    const growing = replacing(source, {
      stream: async (id, options) => {
        streams += 1;
        if (streams === 2) await source.append("s", toEvents([title(2)], 0, 2));
        return source.stream(id, options);
      },
    });
    await using target = memory();
    expect(await copySession(growing, target, "s")).toMatchObject({ state: "copied", events: 2 });
    expect(await copySession(growing, target, "s")).toMatchObject({ state: "copied", events: 3, written: 1 });
  });

  test("that reads back as something else is a failure", async () => {
    await using source = await holding(textsOf([title(0), title(1)]));
    await using target = memory();
    const losing = replacing(target, {
      importRecords: (header, records) => target.importRecords(header, records.slice(0, 1)),
    });
    const result = await copySession(source, losing, "s");
    expect(result).toMatchObject({ state: "failed", error: { code: "corrupt" } });
  });

  test("of a header without events is nothing", async () => {
    await using source = await holding(textsOf([title(0)]));
    const bare = replacing(source, {
      stream: async (id) => ({ ...(await source.stream(id)), pages: pagesOf(), torn: () => true }),
    });
    await using target = memory();
    expect(await copySession(bare, target, "s")).toEqual({ id: "s", state: "empty", torn: true });
    expect((await target.list()).items).toEqual([]);
  });

  test("leaves out a record that was never fully written, and says so", async () => {
    await using source = await holding(textsOf([title(0)]));
    const torn = replacing(source, {
      stream: async (id) => ({ ...(await source.stream(id)), torn: () => true }),
    });
    await using target = memory();
    expect(await copySession(torn, target, "s")).toMatchObject({ state: "copied", events: 1, torn: true });
    expect(await copySession(torn, target, "s")).toMatchObject({ state: "there", events: 1, torn: true });
  });
});

async function* pagesOf(): AsyncGenerator<never> {}

describe("a long session", () => {
  const LONG = textsOf(
    Array.from({ length: 50 }, (_, n) => ({ type: "session/title", data: "x".repeat(n * 4_096) })),
  );

  test("is written in short batches, so that damage in one costs little, each event once", async () => {
    await using source = await holding(LONG);
    await using target = memory();
    const lengths: number[] = [];
    const progress: number[] = [];
    const watched = replacing(target, {
      importRecords: (header, records) => {
        lengths.push(records.reduce((sum, { text }) => sum + text.length, 0));
        return target.importRecords(header, records);
      },
    });
    const onProgress = (events: number, total: number) => progress.push(events / total);
    expect(await copySession(source, watched, "s", { onProgress })).toMatchObject({ state: "copied" });
    expect(await recordsIn(target)).toEqual(LONG);
    // Alone, where one event is longer than a batch.
    const longest = Math.max(...LONG.map(({ length }) => length));
    expect(lengths.every((length) => length <= 16_384 || LONG.some((text) => text.length === length))).toBe(
      true,
    );
    expect(Math.max(...lengths)).toBe(longest);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
  });

  test("stops between two batches when it is told to, and is gone on with from there", async () => {
    await using source = await holding(LONG);
    await using target = memory();
    const stop = new AbortController();
    const reason = new Error("stopped");
    const onProgress = () => stop.abort(reason);
    const copying = copySession(source, target, "s", { signal: stop.signal, onProgress });
    expect(await outcomesOf([copying])).toEqual(["Error: stopped"]);
    const half = await recordsIn(target);
    expect(half).toEqual(LONG.slice(0, half.length));
    expect(half.length).toBeGreaterThan(0);
    const rest = await copySession(source, target, "s");
    expect(rest).toMatchObject({ state: "copied", events: 50, written: 50 - half.length });
    expect(await recordsIn(target)).toEqual(LONG);
    expect(await copySession(source, target, "s")).toMatchObject({ state: "there", written: 0 });
  });
});

describe("a target that has the session", () => {
  test("is gone on with where it ends, also inside a packed run", async () => {
    const events = toEvents(TURN);
    const texts = textsOf(TURN);
    for (let have = 1; have < events.length; have += 1) {
      await using source = await holding(texts);
      await using target = await holding(events.slice(0, have).map((event) => encodeEvent(event).text()));
      const result = await copySession(source, target, "s");
      expect(result).toMatchObject({ state: "copied", events: 22, written: 22 - have });
      expect(await eventsIn(target)).toEqual(await eventsIn(source));
    }
  });

  test("has all of it, however its events are packed", async () => {
    await using source = await holding(textsOf(TURN));
    await using target = await holding(textsOf(TURN, 5, 3, 9, 5));
    const before = await recordsIn(target);
    expect(before).not.toEqual(await recordsIn(source));
    expect(await copySession(source, target, "s")).toMatchObject({ state: "there", events: 22, written: 0 });
    expect(await recordsIn(target)).toEqual(before);
  });

  test("may say a depth of 0 and the kind of its header, or not", async () => {
    const texts = textsOf([title(0)]);
    await using source = await holding(texts);
    const header =
      '{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0,"future":{"n":12}}';
    await using target = await holding(texts, header);
    expect(await copySession(source, target, "s")).toMatchObject({ state: "there" });
  });

  const OTHERS: ReadonlyArray<readonly [string, readonly EventDraft[], string]> = [
    ["with another event", [title(0), title(7)], HEADER],
    ["with more events", [title(0), title(1), title(2), title(3)], HEADER],
    ["with another time of creation", [title(0)], HEADER.replace('"createdAt":1', '"createdAt":2')],
    ["with another unknown member of its header", [title(0)], HEADER.replace("12", "13")],
    ["with a folder", [title(0)], HEADER.replace('"future"', '"cwd":"/x","future"')],
  ];
  test.each(OTHERS)("%s is a conflict, and stays as it is", async (_, drafts, header) => {
    await using source = await holding(textsOf([title(0), title(1), title(2)]));
    await using target = await holding(textsOf(drafts), header);
    const before = await recordsIn(target);
    const result = await copySession(source, target, "s");
    expect(result).toMatchObject({
      state: "failed",
      error: { code: "already-exists", place: { sessionId: "s" } },
    });
    expect(await recordsIn(target)).toEqual(before);
  });

  test("open is a conflict as well", async () => {
    await using source = await holding(textsOf([title(0), title(1)]));
    await using target = await holding(textsOf([title(0)]));
    await using _ = (await target.prepare("s")).publish();
    const result = await copySession(source, target, "s");
    expect(result).toMatchObject({ state: "failed", error: { code: "session-open" } });
  });
});

describe("a damaged session", () => {
  test("is not copied in part: the damage is found before anything is written", async () => {
    using place = new Place();
    await place.fill({ s: Array.from({ length: 700 }, (_, n) => title(n)) });
    place.run("UPDATE records SET body = replace(body, '690', '691') WHERE seq = 690");
    await using source = await place.open();
    await using target = memory();
    const result = await copySession(source, target, "s");
    expect(result).toMatchObject({ state: "failed", error: { code: "corrupt", place: { seq: 690 } } });
    expect((await target.list()).items).toEqual([]);
  });

  test("in the target is told as such, and is not written to", async () => {
    using place = new Place();
    await using source = memory();
    await put(source, "s", [title(0), title(1)]);
    await place.fill({ s: [title(0)] });
    place.run("UPDATE records SET body = replace(body, '\"n\":0', '\"n\":1')");
    const before = place.contents();
    await using target = await place.open();
    const result = await copySession(source, target, "s");
    expect(result).toMatchObject({
      state: "failed",
      error: { code: "corrupt", place: { path: place.path } },
    });
    await target.close();
    expect(place.contents()).toEqual(before);
  });
});
