import { describe, expect, test } from "bun:test";
import { formatTime, SessionTable } from "../../src/cli/sessions/table.ts";

const HEADER = { version: 0, id: "x", createdAt: 0 } as const;

describe("the table of sessions", () => {
  test("has columns that fit, over several pages", () => {
    const table = new SessionTable(false);
    const first = table.format([{ id: "short", state: "ok", header: { ...HEADER, cwd: "/a" } }]);
    expect(first).toBe(
      "ID     CREATED               FOLDER  STATE\nshort  1970-01-01T00:00:00Z  /a      ok\n",
    );
    const second = table.format([
      { id: "longer-id", state: "ok", header: HEADER },
      { id: "日本", state: "corrupt", reason: "It broke" },
    ]);
    expect(second).toBe(
      "longer-id  1970-01-01T00:00:00Z  -       ok\n日本       -                     -       corrupt: It broke\n",
    );
  });

  test("has a column for what a check found", () => {
    const text = new SessionTable(true).format([
      { id: "a", state: "ok", events: 12, torn: true, header: HEADER },
      { id: "b", state: "duplicate", reason: "Two files" },
    ]);
    expect(text.split("\n").slice(0, -1)).toEqual([
      "ID  CREATED               EVENTS  FOLDER  STATE",
      "a   1970-01-01T00:00:00Z  12      -       ok: the end of the log is damaged or was never fully written",
      "b   -                     -       -       duplicate: Two files",
    ]);
  });
});

test("a time beyond every calendar is shown as its number", () => {
  expect(formatTime(1_700_000_000_123)).toBe("2023-11-14T22:13:20Z");
  expect(formatTime(Number.MAX_SAFE_INTEGER)).toBe("9007199254740991");
  expect(formatTime(8.64e15)).toBe("+275760-09-13T00:00:00Z");
});
