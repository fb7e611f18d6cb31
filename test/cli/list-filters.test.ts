import { expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEntry } from "../../src/cli/sessions/list/list-entry.ts";
import { type FilterFlags, parseFilters } from "../../src/cli/sessions/list/list-filters.ts";
import { pageOf, parseCursor } from "../../src/cli/sessions/list/list-page.ts";
import { UsageError } from "../../src/host/usage.ts";

const NOW = Date.UTC(2026, 2, 5, 12);
const DAY = 86_400_000;

function fits(flags: FilterFlags, entry: Partial<SessionEntry>): boolean {
  return parseFilters(flags, NOW).fits({ id: "s", state: "ok", ...entry });
}

function isWanted(flags: FilterFlags, header: { readonly cwd?: string; readonly parentSession?: string }) {
  return parseFilters(flags, NOW).isWanted({
    id: "s",
    header: { version: 0, id: "s", createdAt: 0, ...header },
  });
}

test("a folder is that of a session or above it, also of another system", () => {
  const cases = [
    ["/srv/x", "/srv/x", true],
    ["/srv/x/", "/srv/x", true],
    ["/srv/x", "/srv/x/", true],
    ["/srv/x", "/srv/x/y", true],
    ["/srv/x", "/srv/xy", false],
    ["/srv/x/../y", "/srv/y", true],
    ["/", "/srv", true],
    [".", process.cwd(), true],
    ["C:\\work", "C:\\work\\a", true],
    ["C:\\work", "C:\\workshop", false],
  ] as const;
  for (const [path, cwd, expected] of cases)
    expect(isWanted({ cwd: path }, { cwd }), `${path} ${cwd}`).toBe(expected);
  expect(isWanted({ cwd: "/" }, {})).toBe(false);
  expect(isWanted({ parent: "p" }, { parentSession: "p" })).toBe(true);
  expect(isWanted({ parent: "p" }, { parentSession: "pq" })).toBe(false);
});

test("a time is a date where the reader is, a time, or an age", () => {
  const since = (text: string) => {
    const at = [...Array(3).keys()].map((k) => fits({ since: text }, { lastActive: NOW - k * DAY }));
    return at.filter(Boolean).length;
  };
  expect([since("23h"), since("24h"), since("1d"), since("1w"), since("0d")]).toEqual([1, 2, 2, 3, 1]);
  expect(since("2026-03-04T12:00:00Z")).toBe(2);
  expect(since("2026-03-04 13:00+01:00")).toBe(2);
  expect(since("2026-03-04T12:00:00.001Z")).toBe(1);
  expect(fits({ since: "2026-03-05" }, { lastActive: new Date(2026, 2, 5).getTime() })).toBe(true);
  expect(fits({ since: "2026-03-05" }, { lastActive: new Date(2026, 2, 5).getTime() - 1 })).toBe(false);
  expect(fits({ since: "1d" }, {})).toBe(false);
  for (const text of ["", "7", "7y", "-1d", "2026-02-30", "2026-13-01", "2026-03-04T25:00", "yesterday"])
    expect(() => since(text), text).toThrow(UsageError);
});

test("states are several, by comma or one by one, and a title is found in any letter case", () => {
  expect(fits({ state: ["torn,ok", "empty"] }, {})).toBe(true);
  expect(fits({ state: ["torn", "empty"] }, {})).toBe(false);
  expect(() => fits({ state: ["korrupt"] }, {})).toThrow(UsageError);
  expect(fits({ grep: "ÜBER m" }, { title: "Über Milch" })).toBe(true);
  expect(fits({ grep: "bread" }, { title: "Über Milch" })).toBe(false);
  expect(fits({ grep: "" }, {})).toBe(false);
});

const listed = fc.record({
  id: fc.constantFrom(..."abcdefgh"),
  time: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  location: fc.constantFrom("/x", "/y"),
});
const several = fc.uniqueArray(listed, { selector: ({ id, location }) => id + location, maxLength: 12 });

function entries(
  rows: ReadonlyArray<{ id: string; time: number | undefined; location: string }>,
): SessionEntry[] {
  return rows.map(({ id, time, location }) => ({
    id,
    state: "ok",
    location,
    ...(time === undefined ? {} : { lastActive: time }),
  }));
}

const nameOf = ({ id, location }: SessionEntry) => id + location;

test("pages are the list, each session once, also while newer ones are added", () => {
  fc.assert(
    fc.property(several, fc.integer({ min: 1, max: 5 }), fc.boolean(), (rows, limit, isGrowing) => {
      const whole = pageOf(entries(rows), 100, undefined);
      const times = whole.entries.map(({ lastActive }) => lastActive ?? -1);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
      const seen: string[] = [];
      let all = entries(rows);
      let cursor: string | undefined;
      do {
        const page = pageOf(all, limit, cursor === undefined ? undefined : parseCursor(cursor));
        expect(page.total).toBe(all.length);
        seen.push(...page.entries.map(nameOf));
        cursor = page.nextCursor;
        if (isGrowing) all = [...all, { id: `new-${all.length}`, state: "ok", lastActive: 10 }];
      } while (cursor !== undefined);
      expect(seen).toEqual(whole.entries.map(nameOf));
    }),
  );
});

test("a cursor is one that was told", () => {
  for (const text of ["", "x", "WzFd", "bnVsbA", "{}"])
    expect(() => parseCursor(text), text).toThrow(UsageError);
});
