import { describe, expect, test } from "bun:test";
import { CorruptError, StorageFailedError } from "../../src/store/errors.ts";
import type { StoreExaminer } from "../../src/store/examiner.ts";
import type { Finding, FindingCode } from "../../src/store/finding.ts";
import {
  type VerifyOptions,
  type VerifyProgress,
  type VerifyReport,
  verifySessions,
  verifyStore,
} from "../../src/store/verify.ts";
import { toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { damaged, examinedSession, examinerOf, sound } from "../fixtures/examined.ts";
import { recordsOf } from "../fixtures/logs.ts";

const TURN = [turnStart(1), userMessage("hi"), turnEnd(1)];

/** Records of whole Turns, from Turn and seq on. */
function turns(count: number, first = 0) {
  const drafts = Array.from({ length: count }, (_, k) => [
    turnStart(first + k + 1),
    userMessage("hi"),
    turnEnd(first + k + 1),
  ]);
  return recordsOf(toEvents(drafts.flat(), 0, 3 * first));
}

function sha256(records: ReturnType<typeof turns>): string {
  const text = records.map((record) => record.text).join("\n");
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function check(examiner: StoreExaminer, options?: VerifyOptions): Promise<VerifyReport[]> {
  return Array.fromAsync(
    (async function* () {
      yield* verifyStore(examiner);
      yield* verifySessions(examiner, options);
    })(),
  );
}

/** The verdict on a session of these items. */
async function verdict(...args: Parameters<typeof examinedSession>) {
  const reports = await check(examinerOf([examinedSession(...args)]));
  const found = reports.find((report) => report.kind === "session");
  if (found?.kind !== "session") throw new Error("there is no verdict");
  return found;
}

const finding = (code: FindingCode): Finding => ({ code, message: "It is so", place: {} });

describe("a check of a store", () => {
  test("tells what concerns the store, then each session with its findings first", async () => {
    const gap = [...turns(1), ...turns(1, 2)];
    const reports = await check(
      examinerOf(
        [examinedSession("a", [sound(turns(2))]), examinedSession("b", [sound(gap)])],
        [finding("foreign")],
      ),
    );
    expect(reports).toMatchObject([
      { kind: "finding", finding: { code: "foreign" } },
      { kind: "store", errors: 1, notes: 0 },
      { kind: "session", id: "a", location: "/store/a", state: "ok", events: 6, errors: 0, notes: 0 },
      {
        kind: "finding",
        session: "b",
        finding: { code: "events-missing", place: { path: "/store", row: 4, seq: 3 } },
      },
      { kind: "session", id: "b", state: "damaged", events: 3, errors: 1, notes: 0 },
    ]);
  });

  test("tells damage with the gap that it leaves as one, and a gap that is none of it by itself", async () => {
    const found = async (...items: Parameters<typeof examinedSession>[1]) =>
      (await check(examinerOf([examinedSession("a", items)]))).flatMap((report) =>
        report.kind === "finding" ? [[report.finding.code, report.finding.missing]] : [],
      );
    const gap = { seq: 3, events: 6 };
    expect(await found(sound(turns(1)), damaged(), sound(turns(1, 3)))).toEqual([["damaged", gap]]);
    expect(
      await found(sound(turns(1)), damaged(), damaged({ code: "malformed" }), sound(turns(1, 3))),
    ).toEqual([
      ["damaged", undefined],
      ["malformed", gap],
    ]);
    expect(await found(sound(turns(1)), damaged(), sound([...turns(1, 1), ...turns(1, 3)]))).toEqual([
      ["damaged", undefined],
      ["events-missing", undefined],
    ]);
    const reference = damaged({ code: "reference" });
    expect(await found(sound(turns(1)), reference, sound(turns(1, 3)))).toEqual([
      ["reference", undefined],
      ["events-missing", undefined],
    ]);
    const broken = () => {
      throw new StorageFailedError("It does not answer");
    };
    // Nothing of it gets lost where nothing comes behind it.
    expect(await found(sound(turns(1)), damaged())).toEqual([["damaged", undefined]]);
    expect(await found(damaged(), broken)).toEqual([
      ["damaged", undefined],
      ["unreadable", undefined],
    ]);
  });

  test("takes the sessions that are named, and tells which of them are not there", async () => {
    const store = examinerOf(["a", "b", "c"].map((id) => examinedSession(id, [])));
    expect(await check(store, { ids: ["b", "x", "c", "y"] })).toMatchObject([
      { kind: "store" },
      { kind: "session", id: "b" },
      { kind: "session", id: "c" },
      { kind: "missing", id: "x" },
      { kind: "missing", id: "y" },
    ]);
  });

  test("goes on behind a session that cannot be read at all", async () => {
    const broken = () => {
      throw new StorageFailedError("It does not answer", { place: { offset: 7 } });
    };
    const corrupt = () => {
      throw new CorruptError("Bad", { expected: "a", found: "b" });
    };
    const store = examinerOf([
      examinedSession("a", [broken]),
      examinedSession("b", [sound(turns(1)), corrupt]),
      examinedSession("c", []),
    ]);
    expect(await check(store)).toMatchObject([
      { kind: "store" },
      {
        finding: { code: "unreadable", message: "It does not answer", place: { sessionId: "a", offset: 7 } },
      },
      { kind: "session", id: "a", state: "unreadable" },
      { finding: { code: "damaged", message: "Bad", place: { sessionId: "b" }, expected: "a", found: "b" } },
      { kind: "session", id: "b", state: "damaged", events: 3 },
      { kind: "session", id: "c", state: "ok" },
    ]);
  });

  test("hides no defect of the program", async () => {
    const defect = () => {
      throw new TypeError("boom");
    };
    const failed = await check(examinerOf([examinedSession("a", [defect])])).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TypeError);
  });

  test("of long logs tells how far it is, and stops when it is told to", async () => {
    const stop = new AbortController();
    const told: VerifyProgress[] = [];
    const long = Array.from({ length: 30 }, (_, k) => sound(turns(1_000, 1_000 * k)));
    const onProgress = (progress: VerifyProgress) => {
      told.push(progress);
      if (told.length === 3) stop.abort();
    };
    const store = examinerOf([examinedSession("a", long), examinedSession("b", [])]);
    const reports = await check(store, { onProgress, signal: stop.signal });
    expect(told.map(({ id, events }) => [id, events])).toEqual([
      ["a", 21_000],
      ["a", 42_000],
      ["a", 63_000],
    ]);
    expect(reports.map(({ kind }) => kind)).toEqual(["store"]);
  });
});

describe("the verdict on a session", () => {
  test("counts errors and notes, and notes do no harm", async () => {
    const open = recordsOf(toEvents(TURN.slice(0, 2)));
    expect(await verdict("a", [sound(open)], [finding("other-folder")])).toMatchObject({
      state: "ok",
      errors: 0,
      notes: 2,
    });
  });

  test.each<[string, readonly FindingCode[]]>([
    ["torn", ["torn-tail"]],
    ["torn", ["torn-tail", "other-folder"]],
    ["unsupported", ["unsupported-version"]],
    ["unsupported", ["unknown-type", "unknown-type"]],
    ["duplicate", ["duplicate"]],
    ["unreadable", ["unreadable"]],
    ["damaged", ["header-damaged"]],
    ["damaged", ["torn-tail", "unknown-type"]],
    ["damaged", ["duplicate", "damaged"]],
  ])("is %s by %p", async (state, codes) => {
    expect(await verdict("a", [sound(turns(1))], codes.map(finding))).toMatchObject({ state, events: 3 });
  });

  test("has the events and the digest of the sound beginning", async () => {
    const all = turns(4);
    const whole = { events: 12, digest: sha256(all) };
    const start = { events: 6, digest: sha256(all.slice(0, 6)) };
    const [first, rest] = [sound(all.slice(0, 6)), sound(all.slice(6))];
    expect(await verdict("a", [first, rest])).toMatchObject({ state: "ok", ...whole });
    // A torn tail is no part of the log.
    expect(await verdict("a", [first, rest, damaged({ code: "torn-tail" })])).toMatchObject(whole);
    expect(await verdict("a", [first, damaged(), rest])).toMatchObject(start);
    expect(await verdict("a", [first, damaged({ code: "malformed" }), rest])).toMatchObject(start);
    expect(await verdict("a", [first, sound(turns(1, 3))])).toMatchObject(start);
    expect(await verdict("a", [first, sound(turns(2, 1))])).toMatchObject(start);
  });

  test("says nothing of an open Turn that nobody will close", async () => {
    const open = sound(recordsOf(toEvents(TURN.slice(0, 2))));
    expect(await verdict("a", [open, damaged()])).toMatchObject({ errors: 1, notes: 0 });
    expect(await verdict("a", [open], [finding("header-damaged")])).toMatchObject({ errors: 1, notes: 0 });
    expect(await verdict("a", [open, damaged({ code: "torn-tail" })])).toMatchObject({ errors: 1, notes: 1 });
  });
});
