import type { CompactionResult, StoreSizes } from "../../store/compactor.ts";
import type { HoldfastError } from "../../store/errors.ts";
import { counted } from "../counted.ts";
import { formatBytes } from "../doctor/units.ts";
import { printableLine } from "../printable.ts";

/* How a compaction is told: lines for people, or JSON (docs/cli.md, "holdfast sessions compact"). */

/** What became of one session. */
export type CompactReport =
  | CompactionResult
  /** Writing it failed: it is as it was. */
  | { readonly id: string; readonly state: "failed"; readonly error: HoldfastError };

/** A line for people, with its end; of what was left alone, a second one with what to do. */
export function reportText(report: CompactReport, isDry: boolean): string {
  const { id, state } = report;
  if (report.state === "unchanged") return line(`unchanged ${id}: ${formatBytes(report.before)}`);
  if (report.state === "refused" || report.state === "failed") {
    const { message, hint } = report.error;
    return line(`${state} ${id}: ${message}`) + line(`  hint: ${hint}`);
  }
  const { before, after, events } = report;
  const what = isDry ? `would be ${state}` : state;
  const sizes = `${formatBytes(before)} to ${formatBytes(after)}${changeOf(before, after)}`;
  return line(`${what} ${id}: ${sizes}, ${counted(events, "event")}`);
}

export function reportJson(report: CompactReport): object {
  if (report.state !== "refused" && report.state !== "failed") return { kind: "session", ...report };
  const { id, state, error } = report;
  const { code, message, hint } = error;
  return { kind: "session", id, state, code, reason: message, hint };
}

export interface CompactSummary {
  readonly reports: readonly CompactReport[];
  /** Sessions that were not come to. */
  readonly notTried: number;
  /** Absent where the work ended before its end. */
  readonly sizes: StoreSizes | undefined;
  readonly dryRun: boolean;
}

export function summaryText({ reports, notTried, sizes, dryRun: isDry }: CompactSummary): string {
  const counts = Object.entries({ ...countsOf(reports), "not tried": notTried });
  const what = counts.flatMap(([state, count]) => (count > 0 ? `${count} ${state}` : [])).join(", ");
  const saved = savedBy(reports);
  const bytes = formatBytes(Math.abs(saved));
  const saving = saved < 0 ? `${bytes} more` : `${bytes} ${isDry ? "to be saved" : "saved"}`;
  const head = what === "" ? "no session" : what;
  return [
    line(`${head}: ${saving}${isDry ? "; nothing was changed" : ""}`),
    sizes === undefined
      ? ""
      : line(
          `the store ${isDry ? "would take" : "takes"} ${formatBytes(sizes.after)}, and ${isDry ? "takes" : "took"} ${formatBytes(sizes.before)}`,
        ),
  ].join("");
}

export function summaryJson({ reports, notTried, sizes, dryRun }: CompactSummary): object {
  return {
    kind: "summary",
    dryRun,
    ...countsOf(reports),
    notTried,
    saved: savedBy(reports),
    ...(sizes === undefined ? {} : { before: sizes.before, after: sizes.after }),
  };
}

function countsOf(reports: readonly CompactReport[]): Record<CompactReport["state"], number> {
  const counts = { compacted: 0, expanded: 0, unchanged: 0, refused: 0, failed: 0 };
  for (const { state } of reports) counts[state] += 1;
  return counts;
}

/** Bytes; below 0 where the sessions take more. */
function savedBy(reports: readonly CompactReport[]): number {
  let saved = 0;
  for (const report of reports) {
    if (report.state === "compacted" || report.state === "expanded") saved += report.before - report.after;
  }
  return saved;
}

function changeOf(before: number, after: number): string {
  const share = Math.round((100 * Math.abs(before - after)) / Math.max(1, before));
  return ` (${share}% ${after > before ? "more" : "less"})`;
}

function line(text: string): string {
  return `${printableLine(text)}\n`;
}
