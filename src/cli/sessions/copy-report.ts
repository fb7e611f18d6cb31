import { formatPlace } from "../../session/errors.ts";
import type { CopyResult } from "../../store/copy.ts";
import { NotFoundError } from "../../store/errors.ts";
import { TORN_END } from "../../store/finding.ts";
import type { SessionSummary } from "../../store/persistence.ts";
import { counted } from "../counted.ts";
import { printableLine } from "../printable.ts";
import { digestText } from "./digest-text.ts";
import { AmbiguousIdError } from "./session-id.ts";

/** What became of one session, as `--json` prints it. Source: docs/cli.md. */
export type CopyReport =
  | Exclude<CopyResult, { readonly state: "failed" }>
  | { readonly id: string; readonly state: "failed"; readonly code: string; readonly reason: string };

export function toReport(result: CopyResult): CopyReport {
  if (result.state !== "failed") return result;
  const { id, error } = result;
  const where = formatPlace(error.place);
  const said = where === "" ? error.message : `${error.message} (${where})`;
  const isOtherId = error instanceof AmbiguousIdError || error instanceof NotFoundError;
  const reason = isOtherId ? `${said}. ${error.hint}` : said;
  return { id, state: "failed", code: error.code, reason };
}

const CODES = {
  corrupt: "corrupt",
  unsupported: "unsupported-format",
  duplicate: "storage-failed",
  unreadable: "storage-failed",
} as const;

/** Why a session that a listing shows cannot be copied, if so. */
export function refusalOf({ id, location, problem }: SessionSummary): CopyReport | undefined {
  if (problem === undefined) return undefined;
  const reason = location === undefined ? problem.reason : `${problem.reason} (file ${location})`;
  return { id, state: "failed", code: CODES[problem.state], reason };
}

/** One line for people, with its end. */
export function reportText(report: CopyReport): string {
  return `${printableLine(describe(report))}\n`;
}

function describe(report: CopyReport): string {
  const { id } = report;
  switch (report.state) {
    case "failed":
      return `failed ${id}: ${report.reason}`;
    case "empty":
      return `empty ${id}: it has no event, and was left out`;
    case "there":
      return `already there ${id}: ${contents(report)}`;
    case "copied": {
      const { events, written } = report;
      const resumed = written < events ? `, ${events - written} of them before` : "";
      return `copied ${id}: ${contents(report, resumed)}`;
    }
  }
}

function contents(
  { events, digest, torn }: Extract<CopyReport, { readonly digest: string }>,
  resumed = "",
): string {
  const rest = torn ? `; the ${TORN_END}, and that piece was left out` : "";
  return `${counted(events, "event")}${resumed}, ${digestText(digest)}${rest}`;
}

/** How many sessions came to which end: the last line for people. */
export function summaryText(reports: readonly CopyReport[]): string {
  const count = (state: CopyReport["state"]) => reports.filter((report) => report.state === state).length;
  const empty = count("empty");
  const parts = [`${count("copied")} copied`, `${count("there")} already there`, `${count("failed")} failed`];
  return `${[...parts, ...(empty === 0 ? [] : [`${empty} empty`])].join(", ")}\n`;
}
