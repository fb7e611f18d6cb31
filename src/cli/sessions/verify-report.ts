import { formatPlace } from "../../session/errors.ts";
import { FINDING_SEVERITY, type Finding, type FindingCode, isError } from "../../store/finding.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import type { SessionVerdict, VerifyReport } from "../../store/verify.ts";
import { counted } from "../counted.ts";
import { printableLine } from "../printable.ts";
import { hanging } from "../wrap.ts";
import { digestText } from "./digest-text.ts";
import { afterVerify } from "./next-step.ts";
import { fitting } from "./shorten.ts";

/** Columns of what was expected and of what was found; `--json` tells them whole. */
const MOST_OF_VALUE = 100;

const STATES: ReadonlyArray<SessionVerdict["state"]> = [
  "ok",
  "unsure",
  "torn",
  "damaged",
  "unsupported",
  "duplicate",
  "unreadable",
];

/** What a check has found so far. */
export class VerifySummary {
  readonly #states = new Map<SessionVerdict["state"], number>();
  readonly #codes = new Set<FindingCode>();
  #sessions = 0;
  #events = 0;
  #errors = 0;
  #notes = 0;
  #missing = 0;

  get sessions(): number {
    return this.#sessions;
  }

  /** Whether the store below the sessions was found damaged. */
  get isStoreDamaged(): boolean {
    return this.#codes.has("store-damaged");
  }

  get errors(): number {
    return this.#errors;
  }

  get missing(): number {
    return this.#missing;
  }

  add(report: VerifyReport): void {
    if (report.kind === "missing") this.#missing += 1;
    if (report.kind === "finding" && isError(report.finding)) this.#codes.add(report.finding.code);
    if (report.kind !== "session" && report.kind !== "store") return;
    this.#errors += report.errors;
    this.#notes += report.notes;
    if (report.kind === "store") return;
    this.#sessions += 1;
    this.#events += report.events;
    this.#states.set(report.state, (this.#states.get(report.state) ?? 0) + 1);
  }

  /** As `--json` prints it. Source: docs/cli.md. */
  json(): object {
    return {
      kind: "summary",
      sessions: this.#sessions,
      ok: this.#states.get("ok") ?? 0,
      missing: this.#missing,
      events: this.#events,
      errors: this.#errors,
      notes: this.#notes,
    };
  }

  /**
   * For people: the counts, and what to do where something is wrong.
   * @param ids sessions that were asked for; of all when there are none
   */
  text(ids: readonly string[], store: StoreName): string {
    if (this.#errors === 0) return this.#counts();
    return `${this.#counts()}\n${printableLine(`next: ${afterVerify(this.#codes, ids, store)}`)}`;
  }

  #counts(): string {
    const states = STATES.flatMap((state) => {
      const count = this.#states.get(state) ?? 0;
      return count === 0 ? [] : [`${count} ${state}`];
    });
    const missing = this.#missing === 0 ? [] : [`${this.#missing} missing`];
    const sessions = [counted(this.#sessions, "session"), ...states, ...missing].join(", ");
    return `${sessions}; ${counts({ errors: this.#errors, notes: this.#notes })}`;
  }
}

/** One line as `--json` prints it. Source: docs/cli.md. */
export function reportJson(report: VerifyReport, store: StoreName): object {
  if (report.kind === "finding") return findingJson(report.finding, report.session);
  if (report.kind !== "store") return report;
  const { kind, errors, notes } = report;
  return { kind, store: formatStoreName(store), state: errors === 0 ? "ok" : "damaged", errors, notes };
}

/** One finding as `--json` prints it. */
export function findingJson(finding: Finding, session: string | undefined): object {
  const { code, message, place, expected, found, missing } = finding;
  return {
    kind: "finding",
    ...(session === undefined ? {} : { session }),
    severity: FINDING_SEVERITY[code],
    code,
    message,
    place,
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
    ...(missing === undefined ? {} : { missing }),
  };
}

/**
 * One line for people; nothing where there is nothing to say.
 * @param columns of the terminal; it is not wrapped where there is none
 */
export function reportText(
  report: VerifyReport,
  store: StoreName,
  columns: number | undefined,
): string | undefined {
  const text = describe(report, store);
  return text === undefined ? undefined : hanging(printableLine(text), columns, "  ");
}

function describe(report: VerifyReport, store: StoreName): string | undefined {
  switch (report.kind) {
    case "finding":
      return findingText(report.finding, report.session);
    case "store":
      return report.errors === 0 ? undefined : `damaged ${formatStoreName(store)}: ${counts(report)}`;
    case "missing":
      return `missing ${report.id}: there is no such session`;
    case "session": {
      const { id, state, events, digest } = report;
      if (state === "ok") return `ok ${id}: ${counted(events, "event")}, ${digestText(digest)}`;
      if (state === "unsure")
        return `unsure ${id}: ${counted(events, "event")} can be read, ${digestText(digest)}; the store is damaged, and more may be hidden`;
      return `${state} ${id}: ${counts(report)}; ${counted(events, "event")} can be read, ${digestText(digest)}`;
    }
  }
}

/** One finding for people. */
export function findingText(
  { code, message, place, expected, found, missing }: Finding,
  session: string | undefined,
): string {
  const { sessionId = session, ...rest } = place;
  const where = formatPlace(session === undefined ? place : rest);
  return [
    `${FINDING_SEVERITY[code]} ${code}`,
    ...(sessionId === undefined ? [] : [` in ${sessionId}`]),
    `: ${withValues({ message, expected, found })}`,
    missing === undefined ? "" : `; ${missingText(missing)}`,
    where === "" ? "" : ` (${where})`,
  ].join("");
}

/** One finding as the reason of something, where it is known which session it is about. */
export function reasonText({ code, place, ...values }: Finding): string {
  const { sessionId: _, ...rest } = place;
  const where = formatPlace(rest);
  return `${withValues(values)} (${where === "" ? code : `${code}; ${where}`})`;
}

function withValues({
  message,
  expected,
  found,
}: {
  readonly message: string;
  readonly expected?: string | undefined;
  readonly found?: string | undefined;
}): string {
  const parts = [
    ...(expected === undefined ? [] : [`expected ${elided(expected)}`]),
    ...(found === undefined ? [] : [`found ${elided(found)}`]),
  ];
  return parts.length === 0 ? message : `${message}: ${parts.join(", ")}`;
}

/** The events that damage cost. */
function missingText({ seq, events }: NonNullable<Finding["missing"]>): string {
  return events === 1
    ? `1 event is missing, seq ${seq}`
    : `${counted(events, "event")} are missing, from seq ${seq} on`;
}

/** What SQLite finds may be a list of all that is wrong. */
function elided(value: string): string {
  const kept = fitting(value, MOST_OF_VALUE);
  return kept === value ? value : `${kept.trimEnd()}…`;
}

function counts({ errors, notes }: { readonly errors: number; readonly notes: number }): string {
  return `${counted(errors, "error")}, ${counted(notes, "note")}`;
}
