import { basename } from "node:path";
import type { Finding } from "../../store/finding.ts";
import type {
  ForeignRepair,
  RepairPlan,
  RepairStep,
  SessionRepair,
  StoreRepair,
} from "../../store/repairer.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import { counted } from "../counted.ts";
import { printableLine } from "../printable.ts";
import { hanging } from "../wrap.ts";
import { afterRepair, salvageCommand } from "./next-step.ts";
import { Loss, lossLines } from "./repair-loss.ts";
import { findingJson, reasonText } from "./verify-report.ts";

/* How a repair is told: lines for people, or JSON (docs/cli.md, "holdfast sessions repair"). */

/**
 * A step that is to be done, in several lines.
 * @param columns of the terminal; lines are not wrapped where there is none
 */
export function stepText(step: RepairStep, columns: number | undefined): string {
  const lines = [
    headline(step),
    `  reason: ${reasonText(step.reason)}`,
    ...(step.kind === "store" ? lossLines(step.lost) : []),
    `  backup ${step.backup}`,
    ...(step.quarantine === undefined ? [] : [`  quarantine ${step.quarantine}`]),
  ];
  return `${lines.map((line) => hanging(printableLine(line), columns, "    ")).join("\n")}\n`;
}

/** A step that is done. */
export function doneText(step: RepairStep): string {
  return `${printableLine(`done: ${nameOf(step)}`)}\n`;
}

export function stepJson(step: RepairStep): object {
  const { kind, reason, ...rest } = step;
  return { kind: "step", what: kind, ...rest, reason: findingJson(reason, undefined) };
}

export function doneJson(step: RepairStep): object {
  return {
    kind: "done",
    what: step.kind,
    ...(step.kind === "session" ? { id: step.id } : {}),
    backup: step.backup,
  };
}

/** What no repair can help, and what to do instead. */
export function helplessText(finding: Finding, store: StoreName, columns: number | undefined): string {
  const what = `cannot repair ${finding.place.sessionId ?? formatStoreName(store)}: ${reasonText(finding)}`;
  // A command that is broken cannot be copied.
  const instead = `  instead: ${insteadOf(finding, store)}`;
  return `${hanging(printableLine(what), columns, "    ")}\n${printableLine(instead)}\n`;
}

export function helplessJson(finding: Finding, store: StoreName): object {
  return { ...findingJson(finding, undefined), kind: "helpless", instead: insteadOf(finding, store) };
}

/**
 * The last lines for people.
 * @param done how many steps were carried out
 */
export function summaryText(plan: RepairPlan, done: number, isDry: boolean, store: StoreName): string {
  const steps = isDry ? plan.steps : plan.steps.slice(0, done);
  const salvages = afterRepair(steps, store);
  const loss = Loss.of(steps);
  const lines = [
    countText(plan, done, isDry),
    ...(loss === undefined ? [] : [loss.text(isDry)]),
    ...salvages.map(
      (command) => `to get events back that ${isDry ? "would be" : "were"} set aside: ${command}`,
    ),
  ];
  return `${lines.map(printableLine).join("\n")}\n`;
}

/** @param done how many steps were carried out */
export function summaryJson({ steps, helpless, hasMoreHelpless }: RepairPlan, done: number): object {
  const counts = { steps: steps.length, done, helpless: helpless.length };
  const more = hasMoreHelpless === true ? { moreHelpless: true } : {};
  return { kind: "summary", ...counts, ...more, ...Loss.of(steps)?.json() };
}

function countText(plan: RepairPlan, done: number, isDry: boolean): string {
  const { steps, helpless } = plan;
  const rest = helpless.length === 0 ? "" : `, ${helplessCount(plan)} that no repair can help`;
  if (steps.length === 0) return `nothing to repair${rest}`;
  return isDry
    ? `${counted(steps.length, "step")} to do${rest}; nothing was changed`
    : `${done} of ${counted(steps.length, "step")} done${rest}`;
}

function helplessCount({ helpless, hasMoreHelpless }: RepairPlan): string {
  return hasMoreHelpless === true
    ? `${helpless.length} or more findings`
    : counted(helpless.length, "finding");
}

function nameOf(step: RepairStep): string {
  switch (step.kind) {
    case "session":
      return `repair ${step.id}`;
    case "store":
      return `write ${basename(step.location)} anew`;
    case "foreign":
      return `set ${counted(step.rows, "row")} of no session aside`;
  }
}

function headline(step: RepairStep): string {
  switch (step.kind) {
    case "session":
      return `${nameOf(step)}: ${sessionParts(step).join(", ")}`;
    case "store":
      return `${nameOf(step)}: ${storeParts(step)}`;
    case "foreign":
      return `${nameOf(step)} ${foreignPlace(step)}, with ${counted(step.events, "event")} in them: they may be a whole session that lost its header, and a salvage brings it back`;
  }
}

function sessionParts({ keptEvents, cut, closers, header }: SessionRepair): string[] {
  const { bytes, rows, events } = cut;
  const size = rows > 0 ? counted(rows, "row") : counted(bytes, "byte");
  const made = closers === 0 ? [] : [`add ${counted(closers, "event")} to close the open Turn`];
  return [
    `keep ${counted(keptEvents, "event")}`,
    `set ${size} aside, with ${counted(events, "event")} in ${rows + bytes === 1 ? "it" : "them"}`,
    ...made,
    ...(header === "made" ? ["make the header anew"] : []),
  ];
}

function storeParts({ keptSessions, keptEvents, leaving }: StoreRepair): string {
  const kept = `carry ${counted(keptSessions, "session")} with ${counted(keptEvents, "event")} over`;
  if (leaving.sessions === 0) return kept;
  const aside = `set ${counted(leaving.sessions, "session")} without a header aside`;
  return `${kept}, ${aside}, with ${counted(leaving.events, "event")}: deleted, perhaps, and a salvage brings them back`;
}

function foreignPlace({ location }: ForeignRepair): string {
  return `from ${basename(location)}`;
}

/** What helps where a repair does not. */
function insteadOf({ code, place: { sessionId } }: Finding, store: StoreName): string {
  switch (code) {
    case "unsupported-version":
    case "unknown-type":
      return "use the program, or the version of Holdfast, that wrote it";
    case "unreadable":
      return "make it readable for this user, or look at the disk";
    case "duplicate":
      return "look at both logs, and move the one that is not wanted out of the root";
    default:
      return salvageCommand(formatStoreName(store), sessionId === undefined ? [] : [sessionId]);
  }
}
