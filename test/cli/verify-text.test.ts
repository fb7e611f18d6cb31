import { describe, expect, test } from "bun:test";
import { findingText, reportText } from "../../src/cli/sessions/verify-report.ts";
import type { Finding } from "../../src/store/finding.ts";
import type { VerifyReport } from "../../src/store/verify.ts";

const STORE = { kind: "sqlite", path: "a.db" } as const;
const DAMAGED: Finding = {
  code: "store-damaged",
  message: "SQLite finds the database damaged",
  place: { path: "/srv/a folder/with-a-long-name-that-is-copied/a.db", offset: 4_096 },
  expected: "a sound SQLite database",
  found: "Tree 5 page 5 cell 0: Rowid 1 out of order ".repeat(20),
};

describe("a line of verify", () => {
  test("has the beginning of a digest, which tells sessions apart", () => {
    const digest = "0123456789abcdef".repeat(4);
    const report: VerifyReport = {
      kind: "session",
      id: "s",
      location: "a.db",
      state: "ok",
      events: 2,
      digest,
      errors: 0,
      notes: 0,
    };
    expect(reportText(report, STORE, undefined)).toBe("ok s: 2 events, sha256 0123456789ab…");
  });

  test("has as much of what SQLite found as a person reads, and the place behind it", () => {
    const text = findingText(DAMAGED, undefined);
    expect(text).toMatch(/found Tree 5 page 5 cell 0: .{70,85}… \(file \/srv\/.*, byte 4096\)$/);
  });

  test("is wrapped between words on a terminal, and goes on indented", () => {
    const lines = (reportText({ kind: "finding", finding: DAMAGED }, STORE, 60) ?? "").split("\n");
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
    expect(lines.slice(1).every((line) => line.startsWith("  "))).toBe(true);
    expect(lines.join("\n")).toContain("folder/with-a-long-name-that-is-copied/a.db,");
    expect(reportText({ kind: "finding", finding: DAMAGED }, STORE, undefined)).not.toContain("\n");
  });
});
