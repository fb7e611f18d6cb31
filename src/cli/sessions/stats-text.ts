import { printableLine } from "../printable.ts";
import type { StatsReport, Used } from "./stats-report.ts";

/** One column: its heading, and whether it holds numbers, which end at its right. */
interface Column {
  readonly title: string;
  readonly isNumber: boolean;
}

/** The report as a person reads it: totals, then one table for each kind of thing that is there. */
export function statsText(report: StatsReport): string {
  const { types, tools, models, days, unpriced } = report;
  const hasCost = unpriced !== undefined;
  const parts = [
    totals(report),
    table(
      [text("TYPE"), number("EVENTS"), number("BYTES")],
      types.map(({ type, events, bytes }) => [type, String(events), String(bytes)]),
    ),
    table(
      [text("TOOL"), number("CALLS"), number("FAILED"), number("P50"), number("MAX")],
      tools.map(({ name, calls, failures, medianMs, maxMs }) => [
        name,
        String(calls),
        String(failures),
        duration(medianMs),
        duration(maxMs),
      ]),
    ),
    table(
      [text("MODEL"), ...useColumns(hasCost)],
      models.map(({ model, ...used }) => [model, ...useCells(used, hasCost)]),
    ),
    table(
      [text("DAY"), text("MODEL"), ...useColumns(hasCost)],
      days.map(({ day, model, ...used }) => [day, model, ...useCells(used, hasCost)]),
    ),
    unpriced === undefined || unpriced.length === 0
      ? ""
      : `No price is known of ${unpriced.map((model) => printableLine(model)).join(", ")}\n`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function totals(report: StatsReport): string {
  const { session, sessions, torn, problems, turns, tokens } = report;
  const ended = Object.entries(turns.ended);
  const open = turns.started - ended.reduce((sum, [, count]) => sum + count, 0);
  const ends = [...ended.map(([kind, count]) => `${count} ${kind}`), ...(open > 0 ? [`${open} open`] : [])];
  const lines: ReadonlyArray<readonly [string, string]> = [
    session === undefined ? ["Sessions", String(sessions)] : ["Session", session],
    ...(problems.length === 0 ? [] : ([["Not read to the end", String(problems.length)]] as const)),
    ...(torn === 0 ? [] : ([["With a torn end", String(torn)]] as const)),
    ["Events", `${report.events}, ${report.bytes} bytes`],
    ["Turns", `${turns.started}${ends.length === 0 ? "" : ` (${ends.join(", ")})`}`],
    ["Steps", `${report.steps}, ${report.retries} ${report.retries === 1 ? "retry" : "retries"}`],
    ["Model time", duration(report.modelMs)],
    [
      "Tokens",
      `${tokens.inputTokens} in (${tokens.cacheReadTokens} read from and ${tokens.cacheWriteTokens} written to caches), ` +
        `${tokens.outputTokens} out (${tokens.reasoningTokens} reasoning)`,
    ],
    ...(report.unpriced === undefined ? [] : ([["Cost", cost(tokens.cost)]] as const)),
  ];
  const width = Math.max(...lines.map(([label]) => label.length));
  return lines.map(([label, value]) => `${label.padEnd(width)}  ${printableLine(value)}\n`).join("");
}

function text(title: string): Column {
  return { title, isNumber: false };
}

function number(title: string): Column {
  return { title, isNumber: true };
}

function useColumns(hasCost: boolean): Column[] {
  const titles = [
    "STEPS",
    "IN",
    "OUT",
    "CACHE READ",
    "CACHE WRITE",
    "REASONING",
    ...(hasCost ? ["COST"] : []),
  ];
  return titles.map(number);
}

function useCells(used: Used, hasCost: boolean): string[] {
  const { steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = used;
  const counts = [steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens];
  return [...counts.map(String), ...(hasCost ? [cost(used.cost)] : [])];
}

/** Nothing where there is no row. */
function table(columns: readonly Column[], rows: ReadonlyArray<readonly string[]>): string {
  if (rows.length === 0) return "";
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map(printableLine))];
  const widths = columns.map((_, k) => Math.max(...lines.map((line) => Bun.stringWidth(line[k] ?? ""))));
  return lines
    .map((line) => {
      const cells = columns.map(({ isNumber }, k) => {
        const cell = line[k] ?? "";
        const space = " ".repeat((widths[k] ?? 0) - Bun.stringWidth(cell));
        return isNumber ? space + cell : cell + space;
      });
      return `${cells.join("  ").trimEnd()}\n`;
    })
    .join("");
}

function duration(ms: number | undefined): string {
  if (ms === undefined) return "-";
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function cost(usd: number | undefined): string {
  return usd === undefined ? "-" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
