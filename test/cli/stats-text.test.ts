import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { tellable } from "../../src/cli/sessions/stats/names.ts";
import { type StatsReport, statsReport } from "../../src/cli/sessions/stats/stats-report.ts";
import { statsText } from "../../src/cli/sessions/stats/stats-text.ts";
import { SessionStats } from "../../src/session/projections/stats.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { assistantMessage, stepStart, textBlock } from "../fixtures/event-drafts.ts";
import { recordsOfDrafts } from "../fixtures/stored-sessions.ts";

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
  const lines = statsText(reportOf(name), { zone: "UTC", width }).split("\n");
  return lines.slice(lines.indexOf(""));
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
    expect(row).toMatch(/^m{29}…m{30} +3 +123,456 +7,890 +1 +2 +3 +\$1\.50$/);
  });

  test("show names whole below their rows where there is no room beside them, and no two of them alike", () => {
    const names = ["anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5-20251101", "gpt"];
    const report = { ...reportOf("m"), models: names.map((model) => ({ model, ...USED })) };
    const lines = statsText(report, { zone: "UTC", width: 60 }).split("\n");
    const at = lines.findIndex((line) => line.startsWith("MODEL"));
    expect(lines.slice(at, at + 7).map((line) => line.slice(0, 22).trimEnd())).toEqual(
      [
        "MODEL                S",
        "anthropic/claude-so",
        "  nnet-4-5-20250929",
        "anthropic/claude-so",
        "  nnet-4-5-20251101",
        "gpt                   ",
        "",
      ].map((line) => line.trimEnd()),
    );
    const long = (middle: string) => `${"m".repeat(40)}${middle}${"n".repeat(40)}`;
    const shown = tellable([long("a"), long("b"), long("a"), "gpt"], 60);
    expect(shown).toEqual([shown[0] ?? "", shown[1] ?? "", shown[0] ?? "", "gpt"]);
    expect(shown[1]).toEndWith("n (2)");
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[ab日]{0,12}(?: \(2\))?$/)), (some) => {
        const cut = tellable(some, 8);
        expect(new Set(cut).size).toBe(some.length);
        for (const text of cut) expect(Bun.stringWidth(text)).toBeLessThanOrEqual(8);
      }),
    );
  });

  test("leave out what matters least in a narrow terminal", () => {
    const heading = (width: number) =>
      tableLines("anthropic/claude-sonnet", width).find((line) => /^MODEL/.test(line));
    expect(heading(100)).toMatch(/STEPS +IN +OUT +CACHE READ +CACHE WRITE +REASONING +COST$/);
    expect(heading(60)).toMatch(/STEPS +IN +OUT +REASONING +COST$/);
    expect(heading(40)).toMatch(/^MODEL +IN +OUT +COST$/);
  });
});

describe("the totals of sessions stats", () => {
  const lineOf = (report: StatsReport, label: string, width?: number) =>
    new RegExp(`^${label} +(.*(\n {5,}.*)*)$`, "m").exec(
      statsText(report, { zone: "Asia/Tokyo", width }),
    )?.[1];

  test("have separators and units, and say whose days they are", () => {
    const report = { ...reportOf("m"), events: 1_234_567, bytes: 97_254, modelMs: 1_234_567 };
    expect(lineOf(report, "Events")).toBe("1,234,567, 95 KiB");
    expect(lineOf(report, "Model time")).toBe("20 min 35 s");
    expect(lineOf(report, "Tokens")).toBe(
      "123,456 in (1 read from and 2 written to caches), 7,890 out (3 reasoning)",
    );
    expect(lineOf(report, "Cost")).toBe("$1.50");
    expect(lineOf(report, "Days in")).toBe("Asia/Tokyo");
    for (const line of statsText(report, { zone: "UTC", width: 60 }).split("\n"))
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
  });

  test("say which Steps reported no tokens, and no price for what nobody counted", () => {
    const some = { ...reportOf("m"), steps: 5 };
    expect(lineOf(some, "Tokens")).toEndWith("(3 reasoning); 2 Steps reported none");
    expect(lineOf(some, "Cost")).toBe("$1.50, without 2 Steps");
    const { cost: _, ...none } = { ...USED, steps: 0 };
    const silent = { ...reportOf("m"), tokens: none, models: [], days: [] };
    expect(lineOf(silent, "Tokens")).toBe("- (3 Steps reported none)");
    expect(lineOf(silent, "Cost")).toBe("-");
    expect(lineOf(silent, "Days in")).toBeUndefined();
  });

  test("have no cost where no Step reported tokens, though all have a price", () => {
    const at = { turn: 1, step: 1 };
    const stats = new SessionStats();
    const read = { sessions: 1, torn: 0, unread: [] };
    expect(statsReport(stats, read, {}).tokens.cost).toBe(0);
    for (const record of recordsOfDrafts([stepStart(at), assistantMessage(at, [textBlock("Hi")])]))
      stats.fold(decodeRecord(record.text, {}));
    expect(statsReport(stats, read, {}).tokens).not.toContainKey("cost");
  });
});
