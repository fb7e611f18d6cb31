import { describe, expect, test } from "bun:test";
import { existsSync, linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { EventDraft } from "../../../src/session/events.ts";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { deltas, rejectionOf, title } from "../../contract/support.ts";
import { damage, rewriteBody } from "../../fixtures/damaged-store.ts";
import { DrivenStore } from "../../fixtures/driven-store.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../../fixtures/event-drafts.ts";
import { errorsIn, goOn, ordinaryContents, piecesOf, repair, rowsIn } from "./damaged.ts";
import { Place } from "./place.ts";

const AT = { turn: 1, step: 1 };
/** 0 turn, 1 user, 2 step, 3 to 7 as one run, 8 citing it, 9 call, 10 result, 11 step end, 12 turn end, 13 compaction. */
const DRAFTS: readonly EventDraft[] = [
  turnStart(1),
  userMessage("hello"),
  stepStart(AT),
  ...deltas(5),
  assistantMessage(AT, [textBlock("hi"), callBlock("c")], { sources: [3, 4, 5, 6, 7] }),
  toolCall(AT, "c"),
  toolResult(AT, "c", "done"),
  stepEnd(AT),
  turnEnd(1),
  replacing(userMessage("in short", "short"), 1, 10, [1, 8, 10]),
];

async function filled(): Promise<Place> {
  const place = new Place();
  await place.fill({ s: DRAFTS, other: [title(0), title(1)] });
  return place;
}

/** What is damaged, how, how many events stay, how many are added, and the code of the reason. */
const CUTS: ReadonlyArray<readonly [string, (place: Place) => void, number, number, string]> = [
  ["a row whose checksum does not fit", update("checksum = checksum + 1 WHERE seq = 9"), 9, 3, "damaged"],
  ["the first row", update("body = 'x' WHERE seq = 0"), 0, 0, "damaged"],
  ["the last row", update("time = 7 WHERE seq = 13"), 13, 0, "malformed"],
  [
    "a row in the middle that is gone",
    run("DELETE FROM records WHERE session = 1 AND seq = 3"),
    3,
    2,
    "events-missing",
  ],
  ["a row that stands at another seq", update("id = id + 5 WHERE seq = 11"), 11, 2, "events-missing"],
  [
    "a row that was moved into another session",
    run("UPDATE records SET id = (1 << 32) + 20 WHERE session = 2 AND seq = 1"),
    14,
    0,
    "malformed",
  ],
  [
    "a row that stands twice",
    run(
      `INSERT INTO records (id, count, type, time, body, sources, checksum)
       SELECT id + 1, count, type, time, body, sources, checksum FROM records WHERE session = 1 AND seq = 3`,
    ),
    8,
    2,
    "malformed",
  ],
  [
    "a message that replaces what is not there",
    ({ path }) => damage(path, (database) => rewriteBody(database, 13, '"start":1', '"start":2')),
    13,
    0,
    "reference",
  ],
];

/** The values of one column. */
function valuesIn(place: Place, sql: string): unknown[] {
  using database = place.raw();
  return database.query(sql).values().flat();
}

function run(...statements: readonly string[]) {
  return (place: Place) => place.run(...statements);
}

function update(change: string) {
  return run(`UPDATE records SET ${change} AND session = 1`);
}

describe("a session is cut before the first thing that a reader stops at, and closed there:", () => {
  test.each(CUTS)("%s", async (_, spoil, events, closers, code) => {
    using place = await filled();
    const sound = await ordinaryContents(place.path);
    spoil(place);
    const before = readFileSync(place.path);
    const rows = valuesIn(place, "SELECT id || ' ' || body FROM records WHERE session = 1 ORDER BY id");
    const readable = await ordinaryContents(place.path);

    const plan = await planSqliteRepair(place.path);
    expect(readFileSync(place.path).equals(before)).toBe(true);
    const [backup, quarantine] = [`${place.path}.backup-1`, `${place.path}.quarantine-1`];
    expect(plan.steps[0]).toMatchObject({
      kind: "session",
      id: "s",
      location: place.path,
      reason: { code },
      keptEvents: events,
      closers,
      header: "kept",
      backup,
      quarantine,
    });
    expect((await repair(place.path)).steps).toEqual([...plan.steps]);

    expect(await errorsIn(place.path)).toEqual([]);
    const { s = [] } = await ordinaryContents(place.path);
    expect(s.slice(0, events)).toEqual(sound["s"]?.slice(0, events) ?? []);
    expect(s.slice(0, events)).toEqual([...(readable["s"] ?? [])]);
    expect(s.length).toBe(events + closers);
    expect(readFileSync(backup).equals(before)).toBe(true);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(statSync(quarantine).mode & 0o777).toBe(0o600);

    // What was cut off is in the quarantine file, as it was stored, and nothing else is.
    const kept = new Set(valuesIn(place, "SELECT id || ' ' || body FROM records"));
    const cut = rows.filter((row) => !kept.has(row));
    expect<unknown[]>(rowsIn(quarantine)).toEqual(cut);
    expect(plan.steps[0]).toMatchObject({ cut: { rows: cut.length, bytes: 0 } });
    await goOn(place);
  });
});

test("what lies behind the cut is in the quarantine file with all its columns, and says why", async () => {
  using place = await filled();
  update("body = 'x' WHERE seq = 12")(place);
  await repair(place.path);
  const [head] = readFileSync(`${place.path}.quarantine-1`, "utf8").split("\n");
  expect(JSON.parse(head ?? "")).toMatchObject({
    session: "s",
    source: "store.db",
    reason: { code: "damaged", expected: expect.stringContaining("checksum") },
    cutAt: { row: 2 ** 32 + 12, seq: 12 },
  });
  const pieces = piecesOf(`${place.path}.quarantine-1`);
  const last = { rowid: 2 ** 32 + 13, count: 1, type: "user/message", sources: null };
  expect(pieces).toMatchObject([
    { kind: "row", values: { body: "x" } },
    { kind: "row", values: last },
  ]);
});

describe("a header is repaired:", () => {
  test.each([
    [
      "kept where it still is one of its session",
      "replace(header, '\"createdAt\":1', '\"createdAt\":2')",
      "kept",
    ],
    ["made anew where it is none", "'{}'", "made"],
    ["made anew where it is of another session", 'replace(header, \'"id":"s"\', \'"id":"t"\')', "made"],
  ])("%s", async (_, header, how) => {
    using place = await filled();
    const sound = await ordinaryContents(place.path);
    place.run(`UPDATE sessions SET header = ${header} WHERE key = 's'`);
    const { steps } = await repair(place.path);
    expect(steps).toMatchObject([
      { kind: "session", id: "s", header: how, keptEvents: 14, cut: { rows: 0 } },
    ]);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual(sound);
    // The row as it was.
    expect(piecesOf(`${place.path}.quarantine-1`)).toMatchObject([
      { kind: "row", values: { rowid: 1, key: "s" } },
    ]);
    await using store = await place.open();
    const { header: own } = await store.inspect("s");
    const first = JSON.parse(sound["s"]?.[0] ?? "");
    expect(own).toMatchObject({ id: "s", createdAt: how === "kept" ? 2 : first.time });
  });

  test("a key that was changed is put right where the checksum proves it", async () => {
    using place = await filled();
    const sound = await ordinaryContents(place.path);
    place.run("UPDATE sessions SET key = 'S' WHERE key = 's'");
    const { steps } = await repair(place.path);
    expect(steps).toMatchObject([{ kind: "session", id: "s", header: "kept" }]);
    expect(await errorsIn(place.path)).toEqual([]);
    expect(await ordinaryContents(place.path)).toEqual(sound);
  });

  test("of another version it stays, and the plan says that no repair can help", async () => {
    using place = await filled();
    damage(place.path, (database) => {
      const header = '{"version":7,"id":"s"}';
      database.run("UPDATE sessions SET header = ?, checksum = ? WHERE key = 's'", [
        header,
        Bun.hash.crc32(`s\n${header}`),
      ]);
    });
    const { steps, helpless } = await repair(place.path);
    expect(steps).toEqual([]);
    expect(helpless).toMatchObject([{ code: "unsupported-version" }]);
  });
});

test("rows of no session are set aside", async () => {
  using place = await filled();
  place.run("DELETE FROM sessions WHERE key = 'other'");
  const { steps } = await repair(place.path);
  expect(steps).toMatchObject([{ kind: "foreign", rows: 2, reason: { code: "foreign" } }]);
  expect(await errorsIn(place.path)).toEqual([]);
  expect(rowsIn(`${place.path}.quarantine-1`).length).toBe(2);
  expect(Object.keys(await ordinaryContents(place.path))).toEqual(["s"]);
});

test("only the sessions that are named are repaired, and each repair has files of its own", async () => {
  using place = await filled();
  place.run("UPDATE records SET body = 'x' WHERE seq = 1");
  const { steps } = await repair(place.path, ["other", "nobody"]);
  expect(steps).toMatchObject([{ id: "other", keptEvents: 1 }]);
  expect((await errorsIn(place.path)).every(({ place: { sessionId } }) => sessionId === "s")).toBe(true);
  const again = await repair(place.path);
  expect(again.steps).toMatchObject([{ id: "s", backup: `${place.path}.backup-2` }]);
  expect(
    ["backup-1", "quarantine-1", "backup-2", "quarantine-2"].every((name) =>
      existsSync(`${place.path}.${name}`),
    ),
  ).toBe(true);
  expect((await repair(place.path)).steps).toEqual([]);
});

test("what a cut cannot help is told, and left as it is", async () => {
  using place = new Place();
  await place.fill({ s: [turnStart(1), userMessage("a"), turnEnd(1)] });
  damage(place.path, (database) => rewriteBody(database, 2, '"turn":1', '"turn":3'));
  const before = readFileSync(place.path);
  const { steps, helpless } = await repair(place.path);
  expect(steps).toEqual([]);
  expect(helpless).toMatchObject([{ code: "turn-balance", place: { sessionId: "s", seq: 2 } }]);
  expect(readFileSync(place.path).equals(before)).toBe(true);
});

test("indexes that somebody added, and the numbers of sessions, survive", async () => {
  using place = await filled();
  place.run(
    "CREATE INDEX by_type ON records (type)",
    "DELETE FROM sessions WHERE number = 2",
    "DELETE FROM records WHERE session = 2",
  );
  update("body = 'x' WHERE seq = 5 OR seq = 8")(place);
  await repair(place.path);
  expect(valuesIn(place, "SELECT name FROM sqlite_schema WHERE name = 'by_type'")).toEqual(["by_type"]);
  await place.fill({ next: [title(0)] });
  expect(valuesIn(place, "SELECT number FROM sessions WHERE key = 'next'")).toEqual([3]);
});

test("a store with a log that a killed process left is repaired with what is in it", async () => {
  using place = new Place();
  {
    await using driven = await DrivenStore.open(place.path);
    await driven.run("put", "s", 5);
    place.run("UPDATE records SET body = 'x' WHERE seq = 3");
    await driven.kill();
  }
  await repair(place.path);
  expect(await errorsIn(place.path)).toEqual([]);
  expect((await ordinaryContents(place.path))["s"]?.length).toBe(3);
});

describe("a repair is refused, and changes nothing,", () => {
  test("while another process holds the store", async () => {
    using place = await filled();
    await using _ = await DrivenStore.open(place.path);
    expect(await rejectionOf(repairSqlite(place.path))).toMatchObject({ code: "locked" });
  });

  test("where the database has a second name, or a journal beside it", async () => {
    using place = await filled();
    const second = `${place.path}.second`;
    linkSync(place.path, second);
    expect(await rejectionOf(repairSqlite(place.path))).toMatchObject({ code: "storage-failed" });
    rmSync(second);
    writeFileSync(`${place.path}-journal`, "journal");
    expect(await rejectionOf(repairSqlite(place.path))).toMatchObject({ code: "storage-failed" });
  });

  test("where there is no store", async () => {
    using place = new Place();
    expect(await rejectionOf(repairSqlite(place.path))).toMatchObject({ code: "not-found" });
    expect(place.contents()).toEqual({});
  });
});
