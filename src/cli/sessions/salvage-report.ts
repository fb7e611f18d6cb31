import { formatPlace } from "../../session/errors.ts";
import type { SalvageTotals } from "../../session/salvage/plan.ts";
import type { SalvageResult } from "../../store/salvage.ts";
import { counted } from "../counted.ts";
import { printableLine } from "../printable.ts";
import { digestText } from "./digest-text.ts";

type Totals = Omit<SalvageTotals, "isSound">;

/** What became of one session, as `--json` prints it. Source: docs/cli.md. */
export type SalvageReport =
  | ({
      readonly id: string;
      readonly state: "salvaged" | "there";
      readonly newId: string;
      readonly events: number;
      readonly written: number;
      readonly digest: string;
    } & Totals)
  | { readonly id: string; readonly state: "sound"; readonly events: number }
  | { readonly id: string; readonly state: "empty"; readonly reason?: string }
  | { readonly id: string; readonly state: "failed"; readonly code: string; readonly reason: string };

export function toReport(result: SalvageResult): SalvageReport {
  switch (result.state) {
    case "failed": {
      const { id, error } = result;
      return { id, state: "failed", code: error.code, reason: withPlace(error.message, error.place) };
    }
    case "empty": {
      const { id, reason } = result;
      return {
        id,
        state: "empty",
        ...(reason === undefined ? {} : { reason: withPlace(reason.message, reason.place) }),
      };
    }
    case "sound":
      return result;
    default: {
      const { totals, ...made } = result;
      const { isSound: _, ...counts } = totals;
      return { ...made, ...counts };
    }
  }
}

function withPlace(message: string, place: Parameters<typeof formatPlace>[0]): string {
  const where = formatPlace(place);
  return where === "" ? message : `${message} (${where})`;
}

/** One line for people, with its end. */
export function reportText(report: SalvageReport): string {
  return `${printableLine(describe(report))}\n`;
}

function describe(report: SalvageReport): string {
  const { id } = report;
  switch (report.state) {
    case "failed":
      return `failed ${id}: ${report.reason}`;
    case "empty":
      return `nothing left ${id}: ${report.reason ?? "it holds no event"}`;
    case "sound":
      return `sound ${id}: ${counted(report.events, "event")}, and nothing to salvage`;
    case "there":
      return `already there ${id}, as ${report.newId}: ${contents(report)}`;
    case "salvaged":
      return `salvaged ${id} as ${report.newId}: ${contents(report)}`;
  }
}

function contents({
  events,
  taken,
  aside,
  missing,
  repeated,
  digest,
}: Extract<SalvageReport, { readonly digest: string }>): string {
  const parts = [
    `${counted(events, "event")}, ${taken} of them taken over`,
    ...(aside === 0 ? [] : [`${aside} kept beside the history`]),
    ...(repeated === 0 ? [] : [`${repeated} there twice`]),
    missing === 0 ? "none missing" : `${missing} missing`,
  ];
  return `${parts.join(", ")}, ${digestText(digest)}`;
}

/** How many sessions came to which end: the last line for people. */
export function summaryText(reports: readonly SalvageReport[]): string {
  const count = (state: SalvageReport["state"]) => reports.filter((report) => report.state === state).length;
  const others = [
    [count("there"), "already there"],
    [count("sound"), "sound"],
    [count("empty"), "with nothing left"],
    [count("failed"), "failed"],
  ] as const;
  const parts = others.flatMap(([number, what]) => (number === 0 ? [] : [`${number} ${what}`]));
  return `${[`${count("salvaged")} salvaged`, ...parts].join(", ")}\n`;
}
