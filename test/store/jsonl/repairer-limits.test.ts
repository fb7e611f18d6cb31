import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LockedError, StoreNotFoundError } from "../../../src/store/errors.ts";
import { planJsonlRepair, repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { rejectionOf } from "../../contract/support.ts";
import {
  assistantMessage,
  callBlock,
  stepEnd,
  stepStart,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { BATCHES, TEXTS } from "./damage-kinds.ts";
import { buildLog, encodeBatch, frameOf, headerText, textsOf, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";
import { codesIn, ordinaryReading, piecesOf, repairRoot } from "./repaired.ts";

/** The header line of a log. */
async function headerOf(place: Place, id = "s"): Promise<unknown> {
  await using store = await place.read();
  return JSON.parse((await store.stream(id)).headerText);
}

describe("what no repair can help is told, and left as it is:", () => {
  const torn = (id: string, more: object = {}) =>
    Buffer.concat([
      encodeBatch([headerText(id, more)], "zstd"),
      encodeBatch([titleText(0)], "zstd"),
      Buffer.from("x"),
    ]);
  const put = (place: Place, path: string, bytes: Uint8Array | string) =>
    place.file(join(place.root, path), bytes);
  const at = (texts: readonly string[]) =>
    Buffer.concat([encodeBatch([headerText("odd")], "zstd"), encodeBatch(texts, "zstd")]);
  const step = { turn: 1, step: 1 };
  const unpaired = textsOf([
    [
      turnStart(1),
      userMessage("x"),
      stepStart(step),
      assistantMessage(step, [callBlock("c")]),
      stepEnd(step),
      turnEnd(1),
    ],
  ]).flat();

  const cases: ReadonlyArray<readonly [string, (place: Place) => unknown, readonly string[]]> = [
    [
      "another version",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", torn("odd", { version: 4 })),
      ["unsupported-version"],
    ],
    [
      "another id in the header",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", torn("else")),
      ["header-misplaced"],
    ],
    [
      "a damaged header under a name that encodes no id",
      (place) => put(place, "--p--/o~d/session.jsonl", "?\n"),
      ["header-damaged"],
    ],
    [
      "two logs of one id",
      (place) => {
        put(place, "--p--/odd/session.jsonl.zstd", torn("odd"));
        put(place, "--q--/odd/session.jsonl.zstd", torn("odd", { cwd: "/q" }));
      },
      ["duplicate", "duplicate"],
    ],
    [
      "a folder in place of a log",
      (place) => mkdirSync(join(place.root, "--p--/odd/session.jsonl"), { recursive: true }),
      ["unreadable"],
    ],
    [
      "an unknown type",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", at(['{"type":"x/y","seq":0,"time":1,"data":0}'])),
      ["unknown-type"],
    ],
    [
      "a call without its result",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", at(unpaired)),
      ["tool-pairing"],
    ],
  ];

  test.each(cases)("%s", async (_, make, codes) => {
    using place = new Place();
    make(place);
    const before = place.contents();
    const { steps, helpless } = await repairRoot(place.root);
    expect(steps).toEqual([]);
    expect(helpless.map(({ code }): string => code)).toEqual([...codes]);
    expect((await planJsonlRepair(place.root)).helpless).toEqual([...helpless]);
    expect(place.contents()).toEqual(before);
  });
});

describe("a header that is made anew", () => {
  const damaged = (header: string) =>
    Buffer.concat([Buffer.from(`${header}\n`), ...BATCHES.map((batch) => encodeBatch(batch, "none"))]);

  test("keeps the members that can still be read, and takes the id from the folder", async () => {
    using place = new Place();
    const more = {
      createdAt: 7,
      parentSession: "p",
      seedLength: 3,
      origin: "subagent",
      delegationDepth: 2,
      agentPreset: 9,
    };
    place.put("s", "none", damaged(headerText("s", { ...more, id: 5 })));
    expect((await repairRoot(place.root)).steps).toMatchObject([
      { header: "made", keptEvents: TEXTS.length },
    ]);
    const { agentPreset: _, ...kept } = more;
    expect(await headerOf(place)).toEqual({ type: "session", version: 0, id: "s", cwd: "/p", ...kept });
  });

  test("takes a folder out of broken bytes only where the project's name confirms it", async () => {
    using place = new Place();
    const header = (id: string, cwd: string) => damaged(headerText(id, { cwd }).slice(1));
    place.put("kept", "none", header("kept", "/a-b/c"), "--a-b-c--");
    place.put("broken", "none", header("broken", "/a-b/d"), "--a-b-c--");
    place.put("bare", "none", header("bare", "/d"), "_no-cwd");
    await repairRoot(place.root);
    const made = { type: "session", version: 0, createdAt: 1_000, delegationDepth: 0 };
    expect(await headerOf(place, "kept")).toEqual({ ...made, id: "kept", cwd: "/a-b/c" });
    // Nobody says what this was: the name of the project stands for several folders.
    expect(await headerOf(place, "broken")).toEqual({ ...made, id: "broken", cwd: "/a/b/c" });
    expect(await headerOf(place, "bare")).toEqual({ ...made, id: "bare" });
    expect(await codesIn(place.root)).toEqual([]);
    const [first] = piecesOf(join(place.root, "--a-b-c--/kept/session.jsonl.quarantine-1"));
    expect(first).toMatchObject({
      kind: "text",
      offset: 0,
      text: headerText("kept", { cwd: "/a-b/c" }).slice(1),
    });
  });

  test("takes the folder that the other sessions of the project name", async () => {
    using place = new Place();
    for (const [id, cwd] of [
      ["x", "/a/b-c"],
      ["y", "/a/b-c"],
      ["z", "/a-b/c"],
    ] as const) {
      place.put(id, "none", encodeBatch([headerText(id, { cwd })], "none"), "--a-b-c--");
    }
    place.put("s", "none", damaged("?"), "--a-b-c--");
    await repairRoot(place.root);
    expect(await headerOf(place)).toMatchObject({ id: "s", cwd: "/a/b-c" });
  });

  test("stands in a frame of its own where it shared one with records, and loses none of them", async () => {
    using place = new Place();
    const lines = [headerText("s"), ...(BATCHES[0] ?? [])];
    const bytes = Buffer.concat([
      frameOf(`${lines.join("\n")}\n`),
      ...BATCHES.slice(1).map((batch) => encodeBatch(batch, "zstd")),
    ]);
    place.put("s", "zstd", bytes);
    expect((await repairRoot(place.root)).steps).toMatchObject([
      { header: "kept", keptEvents: TEXTS.length, cut: { bytes: 0, events: 0 } },
    ]);
    expect((await ordinaryReading(place, "s")).records.map(({ text }) => text)).toEqual(TEXTS);
  });
});

describe.each(ENCODINGS)("a root that is repaired, encoding %s", (encoding) => {
  test("is locked: no Host and no other repair comes in between", async () => {
    using place = new Place();
    place.put("s", encoding, buildLog("s", encoding, BATCHES).bytes);
    {
      await using _ = await repairJsonl(place.root);
      expect(await rejectionOf(place.open())).toBeInstanceOf(LockedError);
      expect(await rejectionOf(repairJsonl(place.root))).toBeInstanceOf(LockedError);
    }
    await using store = await place.open();
    expect(await rejectionOf(repairJsonl(place.root))).toBeInstanceOf(LockedError);
    expect((await store.load("s")).log.length).toBe(TEXTS.length);
  });

  test("is left alone where the log changed after it was planned", async () => {
    using place = new Place();
    const { bytes } = buildLog("s", encoding, BATCHES);
    const path = place.put("s", encoding, bytes.subarray(0, -3));
    await using repairer = await repairJsonl(place.root);
    const { steps } = await repairer.plan();
    place.put("s", encoding, bytes);
    const before = place.contents();
    for (const step of steps) {
      expect(await rejectionOf(repairer.carryOut(step))).toMatchObject({ code: "storage-failed" });
    }
    expect([steps.length, place.contents(), readFileSync(path).equals(bytes)]).toEqual([1, before, true]);
  });

  test("that is not there is refused, and not made", async () => {
    using place = new Place();
    const none = join(place.root, "none");
    expect(await rejectionOf(repairJsonl(none))).toBeInstanceOf(StoreNotFoundError);
    expect(await rejectionOf(planJsonlRepair(none))).toBeInstanceOf(StoreNotFoundError);
    expect(place.contents()).toEqual({});
  });
});
