import { describe, expect, test } from "bun:test";
import { parseConfig } from "../../src/host/config.ts";
import { effectiveConfig } from "../../src/host/effective.ts";
import {
  chosenStore,
  storeAndId,
  storeAndIds,
  storeBehind,
  withOneStore,
} from "../../src/host/store-options.ts";
import { type RawOptions, UsageError } from "../../src/host/usage.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const FLAGS = {
  sessionDb: { value: "a.db", source: "--session-db" },
  sessionDir: { value: "logs", source: "--session-dir" },
};
const VARIABLES = {
  sessionDb: { value: "a.db", source: "HOLDFAST_SESSION_DB" },
  sessionDir: { value: "logs", source: "HOLDFAST_SESSION_DIR" },
};
const VARIABLES_OF_ONE = { sessionDb: VARIABLES.sessionDb };
const UNSET = { sessionDb: { value: undefined, source: "sessionDb" } };
const EMPTY = { value: "", source: "HOLDFAST_SESSION_DB" };

describe("of two options that name a store", () => {
  test("a flag goes before the variable of the other", () => {
    const { sessionDb, sessionDir } = VARIABLES;
    expect(withOneStore({ ...FLAGS, sessionDir })).toEqual({ sessionDb: FLAGS.sessionDb });
    expect(withOneStore({ ...FLAGS, sessionDb })).toEqual({ sessionDir: FLAGS.sessionDir });
  });

  test("neither goes before where both are flags, or both variables", () => {
    expect(() => withOneStore(FLAGS)).toThrow("--session-db and --session-dir each name a store");
    expect(() => withOneStore(VARIABLES)).toThrow("HOLDFAST_SESSION_DB and HOLDFAST_SESSION_DIR");
  });

  test("one that is not set, or an empty variable, does not count", () => {
    for (const raw of [UNSET, { ...VARIABLES, sessionDb: EMPTY }]) expect(withOneStore(raw)).toBe(raw);
  });
});

describe("the store that is read", () => {
  const CASES: ReadonlyArray<readonly [RawOptions, string | undefined, object]> = [
    [{ sessionDb: FLAGS.sessionDb }, undefined, { kind: "sqlite", path: "a.db" }],
    [{ sessionDir: VARIABLES.sessionDir, sessionDb: EMPTY }, undefined, { kind: "jsonl", path: "logs" }],
    [VARIABLES, "jsonl:x", { kind: "jsonl", path: "x" }],
    [UNSET, "new.db", { kind: "sqlite", path: "new.db" }],
  ];
  test.each(CASES)("is the one that is named: %p %p", (raw, argument, expected) => {
    expect(chosenStore(raw, argument)).toMatchObject(expected);
  });

  test.each([
    [UNSET, undefined],
    [{ sessionDb: FLAGS.sessionDb }, "x.db"],
    [{ sessionDb: { value: "", source: "--session-db" } }, undefined],
    [{ sessionDb: { value: "a\0b", source: "--session-db" } }, undefined],
    [FLAGS, undefined],
  ])("must be named, and by one name: %p %p", (raw, argument) => {
    expect(() => chosenStore(raw, argument)).toThrow(UsageError);
  });
});

test("a home of dsh is the logs in it by whatever name, for commands and for an agent", async () => {
  await using folder = await TempFolder.create();
  await Bun.write(folder.at("home/sessions/--srv-x--/a/session.jsonl"), "");
  const [home, logs] = [folder.at("home"), folder.at("home/sessions")];
  const raw = { sessionDir: { value: home, source: "HOLDFAST_SESSION_DIR" } };
  const name = { kind: "jsonl", path: logs };
  expect(chosenStore(raw, undefined)).toEqual(chosenStore({}, home));
  expect(chosenStore(raw, undefined)).toMatchObject(name);
  expect(storeAndIds(raw, ["a"])).toMatchObject({ name, ids: ["a"] });
  expect(parseConfig(raw, {}).sessionDir).toBe(logs);
  const settings = effectiveConfig(raw, {}).settings;
  expect(settings.find((setting) => setting.name === "sessionDir")).toMatchObject({ value: logs });
  // One that a Host used by this name has its own logs there.
  await Bun.write(folder.at("home/.holdfast.lock"), "");
  expect(parseConfig(raw, {}).sessionDir).toBe(home);
});

describe("a store among ids", () => {
  test("may stand first or last, where only one of the two can be a store", async () => {
    await using folder = await TempFolder.create();
    const there = folder.at("a.db");
    await Bun.write(there, "");
    const name = { kind: "sqlite", path: there } as const;
    for (const args of [
      [there, "s", "t"],
      ["s", "t", there],
    ])
      expect(storeAndIds(UNSET, args)).toEqual({ name, ids: ["s", "t"] });
    expect(storeAndIds(UNSET, [there])).toEqual({ name, ids: [] });
    expect(storeAndIds(UNSET, ["s", "jsonl:x"])).toEqual({ name: { kind: "jsonl", path: "x" }, ids: ["s"] });
    for (const [one, other] of [
      ["s", there],
      [there, "s"],
    ] as const)
      expect(storeAndId(UNSET, one, other)).toEqual({ name, id: "s" });
  });

  test("stands where the help says, where both can be one, or neither", async () => {
    await using folder = await TempFolder.create();
    const [one, other] = [folder.at("a.db"), folder.at("b.db")];
    for (const path of [one, other]) await Bun.write(path, "");
    expect(storeAndIds(UNSET, [one, other])).toMatchObject({ name: { path: one }, ids: [other] });
    expect(storeAndId(UNSET, one, other)).toMatchObject({ name: { path: other }, id: one });
    expect(storeAndId(UNSET, "s", "new.db")).toMatchObject({ name: { path: "new.db" }, id: "s" });
    expect(() => storeAndIds(UNSET, ["s", "t"])).toThrow("No store is named");
  });

  test("goes before a variable where it is there; beside a flag all are ids", async () => {
    await using folder = await TempFolder.create();
    const there = folder.at("b.db");
    await Bun.write(there, "");
    const name = { kind: "sqlite", path: there } as const;
    for (const args of [
      [there, "s"],
      ["s", there],
    ])
      expect(storeAndIds(VARIABLES_OF_ONE, args)).toEqual({ name, ids: ["s"] });
    expect(storeAndIds(VARIABLES_OF_ONE, ["jsonl:x", "s"])).toMatchObject({
      name: { path: "x" },
      ids: ["s"],
    });
    expect(storeAndIds(VARIABLES_OF_ONE, ["s", "new.db"])).toMatchObject({
      name: { path: "a.db" },
      ids: ["s", "new.db"],
    });
    expect(storeAndIds({ sessionDb: FLAGS.sessionDb }, [there, "s"])).toMatchObject({
      name: { path: "a.db" },
      ids: [there, "s"],
    });
  });

  test("is not the one session that a command needs", async () => {
    await using folder = await TempFolder.create();
    const there = folder.at("a.db");
    await Bun.write(there, "");
    const message = `No session is named: ${JSON.stringify(there)} is taken for the store`;
    expect(() => storeAndId(UNSET, there, undefined)).toThrow(message);
    // Where a store is named in another way it may well be an id.
    expect(storeAndId(VARIABLES_OF_ONE, there, undefined)).toMatchObject({ id: there });
  });
});

describe("a store behind a text", () => {
  test("is not the text that was forgotten", async () => {
    await using folder = await TempFolder.create();
    const [there, other] = [folder.at("a.db"), folder.at("notes.txt")];
    await Bun.write(there, "SQLite format 3\0");
    await Bun.write(other, "Buy milk.");
    const message = `No text is given: ${JSON.stringify(there)} is taken for the store`;
    expect(() => storeBehind(UNSET, there, undefined, "text")).toThrow(message);
    expect(() => storeBehind(UNSET, other, undefined, "text")).toThrow("No store is named");
    // Where a store is named in another way it is a text like any other.
    expect(storeBehind(VARIABLES_OF_ONE, there, undefined, "text")).toMatchObject({ path: "a.db" });
    expect(storeBehind(UNSET, there, there, "text")).toMatchObject({ path: there });
  });

  test("does not change places with it, which is said", async () => {
    await using folder = await TempFolder.create();
    const there = folder.at("a.db");
    await Bun.write(there, "SQLite format 3\0");
    const message = `There is no store at "milk", but there is one at ${JSON.stringify(there)}`;
    expect(() => storeBehind(UNSET, there, "milk", "text")).toThrow(message);
    expect(storeBehind(UNSET, "milk", "new.db", "text")).toMatchObject({ path: "new.db" });
  });
});

describe("a configuration file", () => {
  const given = async (folder: TempFolder, settings: object): Promise<RawOptions> => {
    await Bun.write(folder.at("settings.json"), JSON.stringify(settings));
    return { config: { value: folder.at("settings.json"), source: "--config" } };
  };

  test("names the store where nothing else does, by a path from its own folder", async () => {
    await using folder = await TempFolder.create();
    const raw = await given(folder, { sessionDb: "a.db", port: 1 });
    expect(chosenStore(raw, undefined)).toEqual({ kind: "sqlite", path: folder.at("a.db") });
    expect(chosenStore(raw, "jsonl:x")).toEqual({ kind: "jsonl", path: "x" });
    expect(chosenStore({ ...VARIABLES, ...raw, sessionDb: EMPTY }, undefined)).toEqual({
      kind: "jsonl",
      path: "logs",
    });
    expect(storeAndIds(raw, ["s", "t"])).toEqual({
      name: { kind: "sqlite", path: folder.at("a.db") },
      ids: ["s", "t"],
    });
  });

  test("that names none leaves it to the first argument", async () => {
    await using folder = await TempFolder.create();
    const raw = await given(folder, { port: 1 });
    expect(storeAndIds(raw, ["a.db", "t"])).toEqual({ name: { kind: "sqlite", path: "a.db" }, ids: ["t"] });
    expect(() => chosenStore(raw, undefined)).toThrow("No store is named");
  });
});
