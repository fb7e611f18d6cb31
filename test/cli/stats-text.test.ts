import { describe, expect, test } from "bun:test";
import type { StatsReport } from "../../src/cli/sessions/stats/stats-report.ts";
import { statsText } from "../../src/cli/sessions/stats/stats-text.ts";

const USED = {
  steps: 3,
  inputTokens: 123_456,
  outputTokens: 7_890,
  cacheReadTokens: 1,
  cacheWriteTokens: 2,
  reasoningTokens: 3,
  cost: 1.5,
};

function reportOf(name: string): StatsReport {
  return {
    sessions: 1,
    torn: 0,
    problems: [],
    events: 10,
    bytes: 100,
    types: [{ type: name, events: 10, bytes: 100 }],
    turns: { started: 1, ended: { completed: 1 } },
    steps: 3,
    retries: 0,
    modelMs: 5,
    tools: [{ name, calls: 1, failures: 0, medianMs: 5, maxMs: 5 }],
    tokens: USED,
    models: [{ model: name, ...USED }],
    days: [{ day: "2026-11-30", model: name, ...USED }],
    unpriced: [],
  };
}

/** The lines of the tables alone. */
function tableLines(name: string, width?: number): string[] {
  return statsText(reportOf(name), width).split("\n").slice(7);
}

describe("the tables of sessions stats", () => {
  test.each(["model", "m".repeat(300), "模型".repeat(100), "\u001b[2J".repeat(90), "👩‍👩‍👧 ".repeat(40)])(
    "fit into a terminal and stay straight, whatever a model is called: %p",
    (name) => {
      for (const width of [200, 100, 80, 60, 40]) {
        for (const line of tableLines(name, width)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
      }
      for (const width of [undefined, 200, 80]) {
        const ends = tableLines(name, width).map((line) => Bun.stringWidth(line));
        const tables = ends.join(" ").split(/ ?0 ?/);
        expect(new Set(tables[0]?.split(" ")).size).toBe(1);
      }
      expect(tableLines(name).join("\n")).not.toContain("\u001b");
    },
  );

  test("keep all of their columns where nobody says how wide they may be, and cut what is endless", () => {
    const [, row = ""] = tableLines("m".repeat(300))
      .filter((line) => /^MODEL|^m/.test(line))
      .slice(2);
    expect(row).toMatch(/^m{59}… +3 +123456 +7890 +1 +2 +3 +\$1\.50$/);
  });

  test("leave out what matters least in a narrow terminal", () => {
    const heading = (width: number) =>
      tableLines("anthropic/claude-sonnet", width).find((line) => /^MODEL/.test(line));
    expect(heading(100)).toMatch(/STEPS +IN +OUT +CACHE READ +CACHE WRITE +REASONING +COST$/);
    expect(heading(60)).toMatch(/STEPS +IN +OUT +REASONING +COST$/);
    expect(heading(40)).toMatch(/^MODEL +IN +OUT +COST$/);
  });
});
