import type { CopyResult } from "../../../store/copy.ts";
import type { HoldfastError } from "../../../store/errors.ts";
import { type Finding, TORN_END } from "../../../store/finding.ts";
import type { SalvageResult } from "../../../store/salvage.ts";
import { counted } from "../../counted.ts";
import { printableLine } from "../../printable.ts";
import { digestText } from "../digest-text.ts";
import { failureReason } from "./failure-reason.ts";

interface Ended {
  /** Whether the end of what was read is damaged or was never fully written; that piece was left out. */
  readonly torn: boolean;
  /** Byte at which that piece begins, where it is known. */
  readonly tornAt?: number;
}

interface Made extends Ended {
  readonly events: number;
  readonly written: number;
  readonly digest: string;
}

/** What became of one session, or of a file that cannot be read. */
export type ImportReport =
  | ({ readonly file: string; readonly id: string; readonly state: "imported" | "there" } & Made)
  | ({
      readonly file: string;
      readonly id: string;
      readonly state: "salvaged" | "there";
      /** Of the session that was made of a damaged one. */
      readonly newId: string;
      readonly missing: number;
    } & Made)
  | ({ readonly file: string; readonly id: string; readonly state: "empty" } & Ended)
  /** Without an id where the file itself cannot be read. */
  | {
      readonly file: string;
      readonly id?: string;
      readonly state: "failed";
      readonly code: string;
      readonly reason: string;
      /** What to do about it; only of a file. */
      readonly hint?: string;
    };

/** A session that was read, as far as a report says of it. */
export interface ImportedFrom {
  /** As it was named. */
  readonly file: string;
  /** The log itself. */
  readonly location: string;
  /** Where it ended too early. */
  readonly tail?: Finding | undefined;
}

export function toReport(from: ImportedFrom, result: CopyResult | SalvageResult): ImportReport {
  const { file, location, tail } = from;
  const { id } = result;
  const { offset } = tail?.place ?? {};
  const torn = { torn: tail !== undefined, ...(offset === undefined ? {} : { tornAt: offset }) };
  switch (result.state) {
    case "failed":
      return failedReport(file, result.error, { id, location });
    case "empty":
    // A damaged one was asked for; nothing is left to say of one that is sound and has nothing.
    case "sound":
      return { file, id, state: "empty", ...torn };
    default: {
      const { events, written, digest } = result;
      const made = { events, written, digest, ...torn };
      if (!("newId" in result)) {
        return { file, id, state: result.state === "there" ? "there" : "imported", ...made };
      }
      const { state, newId, totals } = result;
      return { file, id, state, newId, ...made, missing: totals.missing };
    }
  }
}

export function failedReport(
  file: string,
  error: HoldfastError,
  { id, location }: { readonly id?: string; readonly location?: string } = {},
): ImportReport {
  const reason = failureReason(error, location);
  const hint = id !== undefined || error.hint === undefined ? {} : { hint: error.hint };
  return { file, ...(id === undefined ? {} : { id }), state: "failed", code: error.code, reason, ...hint };
}

/** As `--json` prints it. Source: docs/cli.md. */
export function reportJson(report: ImportReport): object {
  return { kind: report.id === undefined ? "file" : "session", ...report };
}

/** One line for people, with its end, and below that of a file that cannot be read one with a hint. */
export function reportText(report: ImportReport): string {
  const hint = "hint" in report ? `  hint: ${printableLine(report.hint)}\n` : "";
  return `${printableLine(describe(report))}\n${hint}`;
}

function describe(report: ImportReport): string {
  switch (report.state) {
    case "failed":
      return `failed ${report.id ?? report.file}: ${report.reason}`;
    case "empty":
      return `empty ${report.id}: it has no event, and was left out${ending(report)}`;
    case "there":
      return `already there ${names(report)}: ${contents(report)}`;
    case "imported": {
      const { events, written } = report;
      const resumed = written < events ? `, ${events - written} of them before` : "";
      return `imported ${report.id}: ${contents(report, resumed)}`;
    }
    case "salvaged":
      return `salvaged ${names(report)}: ${contents(report, `, ${report.missing} missing`)}`;
  }
}

function names(report: { readonly id: string; readonly newId?: string }): string {
  return report.newId === undefined ? report.id : `${report.id}, as ${report.newId}`;
}

function contents({ events, digest, ...ended }: Made, more = ""): string {
  return `${counted(events, "event")}${more}, ${digestText(digest)}${ending(ended)}`;
}

function ending({ torn, tornAt }: Ended): string {
  const at = tornAt === undefined ? "" : ` from byte ${tornAt} on`;
  return torn ? `; the ${TORN_END}${at}, and that piece was left out` : "";
}

/** How many sessions came to which end. Keeps counts, not reports: a root may have many sessions. */
export class ImportSummary {
  readonly #counts = new Map<ImportReport["state"], number>();
  #read = 0;
  #failure: string | undefined;

  /** Sessions that were read, whatever became of them. */
  get read(): number {
    return this.#read;
  }

  /** Code of the first one that failed. */
  get failure(): string | undefined {
    return this.#failure;
  }

  add(report: ImportReport): void {
    this.#counts.set(report.state, this.#of(report.state) + 1);
    if (report.id !== undefined) this.#read += 1;
    if (report.state === "failed") this.#failure ??= report.code;
  }

  /** The last line as `--json` prints it. */
  json(): object {
    const [imported, there, failed] = [this.#of("imported"), this.#of("there"), this.#of("failed")];
    const [salvaged, empty] = [this.#of("salvaged"), this.#of("empty")];
    return { kind: "summary", read: this.#read, imported, there, failed, salvaged, empty };
  }

  /** The last line for people. */
  text(): string {
    const [empty, salvaged] = [this.#of("empty"), this.#of("salvaged")];
    const parts = [
      `${this.#read} read`,
      `${this.#of("imported")} imported`,
      `${this.#of("there")} already there`,
      `${this.#of("failed")} failed`,
      ...(salvaged === 0 ? [] : [`${salvaged} salvaged`]),
      ...(empty === 0 ? [] : [`${empty} empty`]),
    ];
    return `${parts.join(", ")}\n`;
  }

  #of(state: ImportReport["state"]): number {
    return this.#counts.get(state) ?? 0;
  }
}
