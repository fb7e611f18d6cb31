import { describe, expect, test } from "bun:test";
import { recordEvents } from "../../src/session/records.ts";
import type { Examined, ExaminedSession } from "../../src/store/examiner.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { type SalvageOptions, type SalvageResult, salvageSession } from "../../src/store/salvage.ts";
import { toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { damaged, examinedSession, sound } from "../fixtures/examined.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const NOW = 1_800_000_000_000;
const LONG = "x".repeat(40_000);

/** Records of so many Turns, each with an input that fills half a batch; one record an event. */
function turns(count: number) {
  const drafts = Array.from({ length: count }, (_, k) => [
    turnStart(k + 1),
    userMessage(`${k + 1} ${LONG}`),
    turnEnd(k + 1),
  ]);
  return toEvents(drafts.flat()).flatMap((event) => recordsOf([event]));
}

const TURNS = turns(6);
/** A log of which the third Turn is lost. */
const HARMED: readonly Examined[] = [
  sound(TURNS.slice(0, 6)),
  damaged({ code: "damaged", place: { path: "/store/s", offset: 700, row: 4 } }),
  sound(TURNS.slice(9)),
];

function salvage(
  source: ExaminedSession,
  store: SessionPersistence,
  options: Partial<SalvageOptions> = {},
): Promise<SalvageResult> {
  return salvageSession(source, () => Promise.resolve(store), { clock: () => NOW, ...options });
}

async function headerOf(store: SessionPersistence, id: string): Promise<unknown> {
  return JSON.parse((await store.stream(id)).headerText);
}

describe.each(["sqlite:a.db", "jsonl:logs"])("a salvage into %s", (name) => {
  const target = name.replace(":", ":PATH/");
  async function inStore(task: (store: SessionPersistence) => Promise<void>): Promise<void> {
    await using folder = await TempFolder.create();
    await withStore(target.replace("PATH", folder.path), task);
  }

  test("makes a child of the old session, with what is known of that one", () =>
    inStore(async (store) => {
      const header = {
        version: 0,
        id: "s",
        createdAt: 1,
        cwd: "/srv",
        seedLength: 9,
        parentSession: "p",
      } as const;
      const headerText = JSON.stringify({ type: "session", ...header, agentPreset: "x", future: [1] });
      const source = { ...examinedSession("s", HARMED), headerText, header: { ...header, agentPreset: "x" } };
      const result = await salvage(source, store);
      expect(result).toMatchObject({
        id: "s",
        state: "salvaged",
        newId: "s-salvaged",
        events: 17,
        written: 17,
      });
      expect(await headerOf(store, "s-salvaged")).toMatchObject({
        id: "s-salvaged",
        createdAt: NOW,
        cwd: "/srv",
        parentSession: "s",
        delegationDepth: 0,
        agentPreset: "x",
        future: [1],
      });
      expect(await headerOf(store, "s-salvaged")).not.toHaveProperty("seedLength");
      const snapshot = await store.inspect("s-salvaged");
      expect(snapshot.closers).toEqual([]);
      const notes = [...snapshot.log].filter(({ type }) => type.startsWith("salvage/"));
      expect(notes.map(({ data }) => data)).toMatchObject([
        { fromSeq: 6, toSeq: 8, damaged: 1, reason: { code: "damaged", offset: 700, row: 4 } },
        { file: "s", session: "s", header: "kept", taken: 15, missing: 3 },
      ]);
      // No path of the machine enters a log.
      expect(JSON.stringify(notes)).not.toContain("/store");
      // The new session is one that can be gone on with.
      await using preparation = await store.prepare("s-salvaged");
      await preparation.session.log.append(turnStart(7));
    }));

  test("that was cut off is gone on with by the next one, and one that is whole is there", () =>
    inStore(async (store) => {
      const source = examinedSession("s", HARMED);
      const stop = new AbortController();
      const cut = salvage(source, store, {
        signal: stop.signal,
        onProgress: (progress) => {
          if ("written" in progress) stop.abort(new Error("stopped"));
        },
      });
      await expect(cut.catch(String)).resolves.toBe("Error: stopped");
      const result = await salvage(source, store, { clock: () => NOW + 1 });
      expect(result).toMatchObject({ state: "salvaged", newId: "s-salvaged", events: 17 });
      if (result.state !== "salvaged") throw new Error("nothing was salvaged");
      expect(result.written).toBeWithin(1, 17);
      expect(await headerOf(store, "s-salvaged")).toMatchObject({ createdAt: NOW });
      const again = await salvage(source, store);
      expect(again).toEqual({ ...result, state: "there", written: 0 });
    }));

  test("leaves a session alone that was gone on with, and one of another origin", () =>
    inStore(async (store) => {
      const source = examinedSession("s", HARMED);
      await salvage(source, store);
      await using preparation = await store.prepare("s-salvaged");
      await preparation.session.log.append(turnStart(7));
      await preparation[Symbol.asyncDispose]();
      await plant(store, "s-salvaged-2", recordsOfDrafts([turnStart(1)]));
      expect(await salvage(source, store)).toMatchObject({ state: "salvaged", newId: "s-salvaged-3" });
      expect(await salvage(source, store, { newId: "s-salvaged-2" })).toMatchObject({
        state: "failed",
        error: { code: "already-exists" },
      });
      expect(await salvage(source, store, { newId: "mine" })).toMatchObject({
        state: "salvaged",
        newId: "mine",
      });
    }));
});

describe("nothing is written, and no store is made, of a session", () => {
  const none = () => Promise.reject(new Error("the store was opened"));
  const options = { clock: () => NOW };

  test("that is as it should be, where only damaged ones are asked for", async () => {
    const whole = examinedSession("s", [sound(TURNS)]);
    expect(await salvageSession(whole, none, { ...options, onlyDamaged: true })).toEqual({
      id: "s",
      state: "sound",
      events: 18,
    });
  });

  test("of which nothing is left, and it is said why", async () => {
    const place = { path: "/store/s", offset: 0 };
    const nothing = examinedSession("s", [damaged({ message: "No", place })]);
    expect(await salvageSession(nothing, none, options)).toMatchObject({
      state: "empty",
      reason: { message: "No", place },
    });
  });

  test("that may not be read: that is no loss", async () => {
    const place = { path: "/store/s" };
    const closed = examinedSession("s", [], [{ code: "unreadable", message: "No", place }]);
    const failing = examinedSession("s", [damaged({ code: "unreadable", message: "No", place })]);
    for (const source of [closed, failing]) {
      expect(await salvageSession(source, none, options)).toMatchObject({
        state: "failed",
        error: { code: "storage-failed", message: "No", place },
      });
    }
  });

  test("of another version: it is not damaged", async () => {
    const message = "The session has format version 9";
    const newer = examinedSession("s", HARMED, [{ code: "unsupported-version", message, place: {} }]);
    expect(await salvageSession(newer, none, options)).toMatchObject({
      state: "failed",
      error: { code: "unsupported-format", message },
    });
  });
});

test("a header that is wrong, or a log that another one contradicts, is damage too", async () => {
  await using folder = await TempFolder.create();
  await withStore(`sqlite:${folder.at("a.db")}`, async (store) => {
    for (const code of ["header-damaged", "duplicate"] as const) {
      const source = examinedSession(code, [sound(TURNS)], [{ code, message: "It is so", place: {} }]);
      expect(await salvage(source, store, { onlyDamaged: true })).toMatchObject({ state: "salvaged" });
      const { log } = await store.inspect(`${code}-salvaged`);
      expect(log.slice(0, 18)).toEqual(TURNS.flatMap(recordEvents));
    }
  });
});
