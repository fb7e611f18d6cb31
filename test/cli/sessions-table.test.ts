import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEntry } from "../../src/cli/sessions/list/list-entry.ts";
import { formatTime, sessionTable } from "../../src/cli/sessions/list/table.ts";
import { oddString } from "../fixtures/arbitraries.ts";

const NOON = new Date(2026, 2, 5, 12, 7).getTime();

function entry(id: string, more: Partial<SessionEntry> = {}): SessionEntry {
  return { id, state: "ok", started: NOON, lastActive: NOON, turns: 1, events: 12, bytes: 2048, ...more };
}

function table(entries: readonly SessionEntry[], width?: number): string[] {
  return [...sessionTable(entries, width)].map((line) => line.replace(/\n$/, ""));
}

describe("the table of sessions", () => {
  test("has columns that fit, with local times, and numbers at their right", () => {
    expect(
      table([
        entry("short", { title: "Milk" }),
        entry("longer-id", { title: "日本", events: 87_208, bytes: 5, state: "interrupted" }),
        { id: "x", state: "duplicate", reason: "Two files" },
      ]),
    ).toEqual([
      "ID         TITLE  STARTED           LAST ACTIVE       TURNS  EVENTS   SIZE  STATE",
      "short      Milk   2026-03-05 12:07  2026-03-05 12:07      1      12  2 KiB  ok",
      "longer-id  日本   2026-03-05 12:07  2026-03-05 12:07      1  87,208    5 B  interrupted",
      "x          -      -                 -                     -       -      -  duplicate: Two files",
    ]);
  });

  test("makes room on a narrow terminal: columns go, ids and titles are cut, the last activity stays longest", () => {
    const long = "Where is the milk that I bought yesterday, and the bread?";
    const rows = (width: number) => table([entry("a".repeat(20), { title: long })], width);
    expect(rows(200)[1]).toContain(long);
    expect(rows(90)).toEqual([
      "ID                    TITLE                         LAST ACTIVE       TURNS  EVENTS  STATE",
      "aaaaaaaaaaaaaaaaaaaa  Where is the milk that I bo…  2026-03-05 12:07      1      12  ok",
    ]);
    expect(rows(72)[0]?.split(/ {2,}/)).toEqual(["ID", "TITLE", "LAST ACTIVE", "TURNS", "STATE"]);
    expect(rows(48)).toEqual([
      "ID         TITLE         LAST ACTIVE       STATE",
      "aaaaaaaa…  Where is th…  2026-03-05 12:07  ok",
    ]);
    expect(rows(30)[1]).toBe("aaaaaaaa…  Where is th…  ok");
    expect(rows(22)).toEqual(["ID               STATE", "aaaaaaaaaaaaaa…  ok"]);
  });

  test("keeps its columns where one session has a longer state, or a count that is not known", () => {
    const long = { title: "Where is the milk that I bought?" };
    const ids = ["session-0001", "session-0002"] as const;
    const headings = (second: SessionEntry, width: number) =>
      table([entry(ids[0], long), second], width)[0]?.split(/ {2,}/);
    const { events: _, ...broken } = entry(ids[1], { ...long, state: "corrupt" });
    for (let width = 30; width < 160; width += 1)
      expect(headings(broken, width)?.includes("EVENTS")).toBe(
        headings(entry(ids[1], long), width)?.includes("EVENTS"),
      );
    expect(table([entry(ids[0], long), broken], 80)[2]).toEndWith("      1       -  corrupt");
  });

  test("marks the sessions that have a parent, before titles that are cut or run from right to left, too", () => {
    const header = (id: string) => ({ version: 0, id, createdAt: NOON, delegationDepth: 0 }) as const;
    const rows = [
      entry("a", { title: "Milk", header: header("a") }),
      entry("b", { title: "Milk", header: { ...header("b"), parentSession: "a" } }),
      entry("c", { title: "שלום", header: { ...header("c"), parentSession: "a" } }),
    ];
    expect(table(rows, 120).map((row) => row.slice(0, 14).trimEnd())).toEqual([
      "ID  TITLE   ST",
      "a   Milk    20",
      "b   ↳ Milk  20",
      "c   ↳ \u2068שלום\u2069",
    ]);
    expect(
      table(
        [{ ...entry("b", { title: "M".repeat(40), header: { ...header("b"), parentSession: "a" } }) }],
        30,
      )[1],
    ).toStartWith("b   ↳ MMM");
  });

  test("cuts states, then has ids alone, where not even both have room", () => {
    const rows = (width: number) =>
      table([entry("a".repeat(20), { title: "T", state: "unsupported", reason: "Later" })], width);
    expect(rows(20)).toEqual(["ID         STATE", "aaaaaaaa…  unsuppor…"]);
    expect(rows(16)).toEqual(["ID         STATE", "aaaaaaaa…  unsu…"]);
    expect(rows(15)).toEqual(["ID", "aaaaaaaaaaaaaa…"]);
    expect(rows(8)).toEqual(["ID", "aaaaaaa…"]);
    // As long as there is room, each id is told from all others.
    const alike = [entry(`${"x".repeat(16)}-one`), entry(`${"x".repeat(16)}-two`)];
    expect(table(alike, 20)).toEqual(["ID", ...alike.map(({ id }) => id)]);
  });

  test("cuts ids only as far as each is told from all others by its beginning", () => {
    const ids = ["0d5c2a1e-77aa-4bd0-9c1e-5f2a7d3b9e10", "0d5c2a1e-77ab-4bd0-9c1e-5f2a7d3b9e10", "milk"];
    const rows = table(
      ids.map((id) => entry(id, { title: "Where is the milk that I bought?" })),
      80,
    );
    expect(rows[0]?.split(/ {2,}/)).toEqual(["ID", "TITLE", "LAST ACTIVE", "TURNS", "EVENTS", "STATE"]);
    expect(rows.map((row) => row.split(" ")[0])).toEqual(["ID", "0d5c2a1e-77aa…", "0d5c2a1e-77ab…", "milk"]);
    // Two files that claim one id are not told apart by it.
    const twice = [entry("x".repeat(36)), entry("x".repeat(36))];
    expect(table(twice, 60)[1]?.split(" ")[0]).toMatch(/^x{8,}…$/);
  });

  test("shows why a session is not sound as far as there is room", () => {
    const broken = entry("s", {
      title: "T",
      state: "corrupt",
      reason: "An event is malformed: expected this",
    });
    expect(table([broken], 76)[1]).toEndWith("  corrupt");
    expect(table([broken], 100)[1]).toEndWith("  corrupt: An event is malformed…");
    expect(table([broken], 200)[1]).toEndWith("  corrupt: An event is malformed: expected this");
  });

  test("is straight, and never wider than the terminal, whatever the titles hold", () => {
    const odd = fc.record({ title: oddString(), id: fc.stringMatching(/^[a-z]{1,12}$/) });
    fc.assert(
      fc.property(
        fc.array(odd, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 8, max: 120 }),
        (rows, width) => {
          const lines = table(
            rows.map(({ id, title }) => entry(id, { title })),
            width,
          );
          expect(lines.filter((line) => Bun.stringWidth(line) > width)).toEqual([]);
          const starts = lines.map((line) =>
            Bun.stringWidth(line.slice(0, Math.max(line.lastIndexOf("  "), 0))),
          );
          expect(new Set(starts).size).toBe(1);
          expect(lines.join("")).not.toMatch(/\p{Cc}/u);
        },
      ),
    );
  });

  test("keeps text that runs from right to left from turning the columns around, on a terminal", () => {
    const rows = [entry("s", { title: "שלום עולם" }), entry("t", { title: "123456789" })];
    expect(table(rows, 120)[1]).toContain("\u2068שלום עולם\u2069  2026");
    expect(table(rows)[1]).toContain("s   שלום עולם  2026");
  });
});

test("a time beyond every calendar is shown as its number", () => {
  expect(formatTime(1_700_000_000_123)).toBe("2023-11-14T22:13:20Z");
  expect(formatTime(Number.MAX_SAFE_INTEGER)).toBe("9007199254740991");
  expect(formatTime(8.64e15)).toBe("+275760-09-13T00:00:00Z");
  expect(table([entry("s", { started: Number.MAX_SAFE_INTEGER })])[1]).toContain("9007199254740991");
});
