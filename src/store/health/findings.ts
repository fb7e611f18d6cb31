import { formatPlace } from "../../session/errors.ts";
import { HoldfastError } from "../errors.ts";

/*
 * What an examination of a store and its surroundings finds. Source of the codes and their levels: docs/cli.md,
 * "holdfast doctor".
 */

/** How a finding is to be taken. With a problem a Host cannot run, or does not keep its promise. */
export type Level = "problem" | "warning" | "note" | "ok";

/** Every code with its level, the most serious first. Codes are stable. */
export const HEALTH_LEVELS = {
  corrupt: "problem",
  "unsupported-format": "problem",
  "not-found": "problem",
  "storage-full": "problem",
  "storage-failed": "problem",
  "not-writable": "problem",
  "network-file-system": "problem",
  "hard-links": "problem",
  "lock-unusable": "problem",
  "memory-file-system": "warning",
  "network-locks": "warning",
  "no-barriers": "warning",
  "sync-not-real": "warning",
  "sync-slow": "warning",
  "space-low": "warning",
  "wal-large": "warning",
  "writable-by-others": "warning",
  "readable-by-others": "warning",
  duplicates: "warning",
  "closed-folders": "warning",
  "not-files": "warning",
  "no-store-named": "note",
  "no-store": "note",
  "in-use": "note",
  "wal-left": "note",
  "journal-left": "note",
  "rollback-journal": "note",
  "container-layer": "note",
  "later-formats": "note",
  "drafts-left": "note",
  backups: "note",
  quarantine: "note",
  "not-tried": "note",
  "probe-left": "note",
  durable: "ok",
  private: "ok",
  "enough-space": "ok",
} as const satisfies Readonly<Record<string, Level>>;

export type HealthCode = keyof typeof HEALTH_LEVELS;

/** One thing that was found, and what to do about it. */
export interface HealthFinding {
  readonly level: Level;
  readonly code: HealthCode;
  /** What was found, in one sentence without its end. */
  readonly what: string;
  /** Where, if it concerns one place. */
  readonly where?: string;
  /** What to do. Absent where nothing is to be done. */
  readonly hint?: string;
}

export function finding(
  code: HealthCode,
  what: string,
  more: { readonly where?: string; readonly hint?: string } = {},
): HealthFinding {
  const { where, hint } = more;
  return {
    level: HEALTH_LEVELS[code],
    code,
    what,
    ...(where === undefined ? {} : { where }),
    ...(hint === undefined ? {} : { hint }),
  };
}

/** What a check threw, as a finding. Anything but a typed error is thrown on. */
export function findingOf(error: unknown): HealthFinding {
  if (!(error instanceof HoldfastError)) throw error;
  const where = formatPlace(error.place);
  const code = isProblem(error.code) ? error.code : "storage-failed";
  return finding(code, error.message, { ...(where === "" ? {} : { where }), hint: error.hint });
}

/** The most serious first; what is of the same level stays in order. */
export function sortFindings(findings: readonly HealthFinding[]): readonly HealthFinding[] {
  const order = Object.keys(HEALTH_LEVELS);
  const levels: readonly Level[] = ["problem", "warning", "note", "ok"];
  return findings.toSorted(
    (a, b) =>
      levels.indexOf(a.level) - levels.indexOf(b.level) || order.indexOf(a.code) - order.indexOf(b.code),
  );
}

function isProblem(code: string): code is HealthCode {
  return Object.entries(HEALTH_LEVELS).some(([name, level]) => name === code && level === "problem");
}
