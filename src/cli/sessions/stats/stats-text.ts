import { counted, grouped } from "../../counted.ts";
import { formatBytes } from "../../doctor/units.ts";
import { printableLine } from "../../printable.ts";
import { hanging, labelled, wrapped } from "../../wrap.ts";
import { formatDuration } from "../show/told.ts";
import { tellable } from "./names.ts";
import type { StatsReport, Used } from "./stats-report.ts";

const GAP = 2;
/** Columns of a name that is shown whole: whoever wrote the log chose it. */
const NAME_WIDTH = 60;
/** Other columns go before a name has less than this. */
const GOOD_NAME = 16;
const LEAST_NAME = 5;
/** With less, what goes on below begins at its edge. */
const LEAST_INDENTED = 8;
/** Before what goes on below the beginning of a name, so that it looks like no row of its own. */
const INDENT = "  ";
/** In this order they make room. */
const DROPPED = ["CACHE WRITE", "CACHE READ", "REASONING", "STEPS", "P50"];

interface Column {
  readonly title: string;
  /** Numbers end at their right. Names go on below where there is no room. */
  readonly kind: "number" | "name" | "day";
}

export interface StatsStyle {
  /** Name of the time zone that the days are of. */
  readonly zone: string;
  /** Columns of the terminal, if there is one. */
  readonly width?: number | undefined;
}

/** The report as a person reads it: totals, then one table for each kind of thing that is there. */
export function statsText(report: StatsReport, { zone, width }: StatsStyle): string {
  const { types, tools, models, days, unpriced } = report;
  const hasCost = unpriced !== undefined;
  const table = (columns: readonly Column[], rows: ReadonlyArray<readonly string[]>) =>
    tableText(columns, rows, width);
  const parts = [
    totals(report, zone, width),
    table(
      [name("TYPE"), number("EVENTS"), number("SIZE")],
      types.map(({ type, events, bytes }) => [type, grouped(events), formatBytes(bytes)]),
    ),
    table(
      [name("TOOL"), number("CALLS"), number("FAILED"), number("P50"), number("MAX")],
      tools.map(({ name, calls, failures, medianMs, maxMs }) => [
        name,
        grouped(calls),
        grouped(failures),
        duration(medianMs),
        duration(maxMs),
      ]),
    ),
    table(
      [name("MODEL"), ...useColumns(hasCost)],
      models.map(({ model, ...used }) => [model, ...useCells(used, hasCost)]),
    ),
    table(
      [{ title: "DAY", kind: "day" }, name("MODEL"), ...useColumns(hasCost)],
      days.map(({ day, model, ...used }) => [day, model, ...useCells(used, hasCost)]),
    ),
    unpriced === undefined || unpriced.length === 0
      ? ""
      : `${hanging(`No price is known of ${unpriced.map((model) => printableLine(model)).join(", ")}`, width, "  ")}\n`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function totals(report: StatsReport, zone: string, columns: number | undefined): string {
  const { session, sessions, torn, problems, turns, days } = report;
  const ended = Object.entries(turns.ended);
  const open = turns.started - ended.reduce((sum, [, count]) => sum + count, 0);
  const ends = [
    ...ended.map(([kind, count]) => `${grouped(count)} ${kind}`),
    ...(open > 0 ? [`${grouped(open)} open`] : []),
  ];
  const lines: ReadonlyArray<readonly [string, string]> = [
    session === undefined ? ["Sessions", grouped(sessions)] : ["Session", session],
    ...(problems.length === 0 ? [] : ([["Not read to the end", grouped(problems.length)]] as const)),
    ...(torn === 0 ? [] : ([["With a torn end", grouped(torn)]] as const)),
    ["Events", `${grouped(report.events)}, ${formatBytes(report.bytes)}`],
    ["Turns", `${grouped(turns.started)}${ends.length === 0 ? "" : ` (${ends.join(", ")})`}`],
    ["Steps", `${grouped(report.steps)}, ${counted(report.retries, "retry", "retries")}`],
    ["Model time", duration(report.modelMs)],
    ["Tokens", tokensText(report)],
    ...(report.unpriced === undefined ? [] : ([["Cost", costText(report)]] as const)),
    ...(days.length === 0 ? [] : ([["Days in", zone]] as const)),
  ];
  const width = Math.max(...lines.map(([label]) => label.length)) + GAP;
  return lines
    .map(([label, value]) => `${labelled(label.padEnd(width), printableLine(value), columns)}\n`)
    .join("");
}

function tokensText(report: StatsReport): string {
  const { tokens } = report;
  const silent = silentSteps(report);
  if (tokens.steps === 0 && silent > 0) return `- (${counted(silent, "Step")} reported none)`;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = tokens;
  const rest = silent === 0 ? "" : `; ${counted(silent, "Step")} reported none`;
  return (
    `${grouped(inputTokens)} in (${grouped(cacheReadTokens)} read from and ${grouped(cacheWriteTokens)} written to caches), ` +
    `${grouped(outputTokens)} out (${grouped(reasoningTokens)} reasoning)${rest}`
  );
}

function costText(report: StatsReport): string {
  const silent = silentSteps(report);
  const sum = cost(report.tokens.cost);
  return sum === "-" || silent === 0 ? sum : `${sum}, without ${counted(silent, "Step")}`;
}

/** How many Steps reported no tokens; also one that runs. */
function silentSteps({ steps, tokens }: StatsReport): number {
  return Math.max(0, steps - tokens.steps);
}

function name(title: string): Column {
  return { title, kind: "name" };
}

function number(title: string): Column {
  return { title, kind: "number" };
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
  return [...counts.map(grouped), ...(hasCost ? [cost(used.cost)] : [])];
}

/** Nothing where there is no row. */
function tableText(
  columns: readonly Column[],
  rows: ReadonlyArray<readonly string[]>,
  width: number | undefined,
): string {
  if (rows.length === 0) return "";
  const cells = columns.map((column, k) => ({
    ...column,
    texts: [column.title, ...textsOf(column, k, rows)],
  }));
  const fitted = fit(
    cells.map((column) => ({
      ...column,
      width: Math.max(...column.texts.map((text) => Bun.stringWidth(text))),
    })),
    width,
  );
  return Array.from({ length: rows.length + 1 }, (_, row) => linesOf(fitted, row)).join("");
}

function textsOf({ kind }: Column, at: number, rows: ReadonlyArray<readonly string[]>): readonly string[] {
  const texts = rows.map((row) => printableLine(row[at] ?? ""));
  return kind === "name" ? tellable(texts, NAME_WIDTH) : texts;
}

/** A row, on as many lines as its name takes. */
function linesOf(columns: readonly WideColumn[], row: number): string {
  const cells = columns.map(({ kind, texts, width }) => {
    const text = texts[row] ?? "";
    return kind === "name" ? hung(text, width) : [text];
  });
  const most = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: most }, (_, k) => {
    const line = columns.map((column, at) => pad(cells[at]?.[k] ?? "", column));
    return `${line.join(" ".repeat(GAP)).trimEnd()}\n`;
  }).join("");
}

function hung(name: string, width: number): readonly string[] {
  const [first = "", ...others] = wrapped(name, width);
  if (others.length === 0 || width < LEAST_INDENTED) return [first, ...others];
  const rest = wrapped(name.slice(first.length).trimStart(), width - INDENT.length);
  return [first, ...rest.map((text) => INDENT + text)];
}

interface WideColumn extends Column {
  readonly texts: readonly string[];
  readonly width: number;
}

/** The columns that there is room for, with that of the name as wide as there is. */
function fit(columns: readonly WideColumn[], width: number | undefined): readonly WideColumn[] {
  const own = Math.min(NAME_WIDTH, columns.find(({ kind }) => kind === "name")?.width ?? 0);
  const roomIn = (some: readonly WideColumn[]) =>
    some.reduce(
      (room, column) => room - GAP - (column.kind === "name" ? 0 : column.width),
      (width ?? 0) + GAP,
    );
  let kept = columns;
  for (const dropped of DROPPED) {
    if (width === undefined || roomIn(kept) >= Math.min(own, GOOD_NAME)) break;
    kept = kept.filter(({ title }) => title !== dropped);
  }
  const room = width === undefined ? own : Math.max(LEAST_NAME, Math.min(own, roomIn(kept)));
  return kept.map((column) => (column.kind === "name" ? { ...column, width: room } : column));
}

function pad(text: string, { kind, width }: WideColumn): string {
  const space = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return kind === "number" ? space + text : text + space;
}

function duration(ms: number | undefined): string {
  return ms === undefined ? "-" : formatDuration(ms);
}

function cost(usd: number | undefined): string {
  return usd === undefined ? "-" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
