import { lastActive, type Outline } from "../../../session/projections/outline.ts";
import type { SessionSummary } from "../../../store/persistence.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { counted } from "../../counted.ts";
import { isolated } from "../../isolated.ts";
import { printableLine } from "../../printable.ts";
import { hanging } from "../../wrap.ts";
import { localTime, type Row, removalTable, titleCell } from "../list/table.ts";

/** A session that shall go. Times are epoch milliseconds. Source: docs/cli.md. */
export interface Doomed {
  readonly id: string;
  /** This, and `turns` and `lastActive`, where its log was read. */
  readonly title?: string;
  readonly turns?: number;
  readonly createdAt?: number;
  readonly lastActive?: number;
  readonly cwd?: string;
  /** The session that it began as a fork of, or whose agent began it. */
  readonly parentSession?: string;
  /** Why it cannot be read, if that is known. */
  readonly reason?: string;
}

/** A session that was named and is not there. */
export interface Missing {
  readonly id: string;
  /** Some of those whose ids begin so. */
  readonly candidates: readonly string[];
}

/** A session that was named and was deleted before. */
export interface Gone {
  readonly id: string;
  /** Where it lies; absent where it is gone for good. */
  readonly path?: string;
}

/** What became of it, as `--json` prints it. Source: docs/cli.md. */
export type Removed =
  | {
      readonly kind: "deleted";
      readonly id: string;
      /** Where it is now; absent where it is gone for good. */
      readonly path?: string;
      readonly form?: "log" | "rows";
    }
  | {
      readonly kind: "failed";
      readonly id: string;
      readonly code: string;
      readonly reason: string;
      readonly hint?: string | undefined;
    };

export function toDoomed({ id, header, problem }: SessionSummary, outline?: Outline): Doomed {
  const active = outline === undefined ? undefined : lastActive(header, outline);
  return {
    id,
    ...(outline?.title === undefined ? {} : { title: outline.title }),
    ...(outline === undefined ? {} : { turns: outline.turns }),
    ...(header === undefined ? {} : { createdAt: header.createdAt }),
    ...(active === undefined ? {} : { lastActive: active }),
    ...(header?.cwd === undefined ? {} : { cwd: header.cwd }),
    ...(header?.parentSession === undefined ? {} : { parentSession: header.parentSession }),
    ...(problem === undefined ? {} : { reason: problem.reason }),
  };
}

/** Text that a log or a person chose, as a part of a line: for a terminal it is kept from turning the others around. */
type Shown = (text: string) => string;

export function shownOn(isTerminal: boolean): Shown {
  return (text) => isolated(printableLine(text), isTerminal);
}

/**
 * The sessions that shall go as a table for people, line by line, each with its end. Ids are whole, since they tell what is
 * meant: where there is no room for a table that has them each stands on a line of its own. A folder has one where there is
 * no room beside the others, and so has what is wrong with a session that cannot be read.
 * @param width columns of the terminal, if there is one
 */
export function* doomedText(doomed: readonly Doomed[], width: number | undefined): Generator<string> {
  if (doomed.length === 0) return;
  const shown = shownOn(width !== undefined);
  const more = (label: string, text: string | undefined) =>
    text === undefined ? "" : `${hanging(`  ${label}: ${shown(text)}`, width, "    ")}\n`;
  const rows = doomed.map(toRow);
  const table = removalTable(rows, width);
  const lines = table?.lines ?? alone(rows, width ?? Number.POSITIVE_INFINITY);
  yield `to delete:\n${table === undefined ? "" : (lines.next().value ?? "")}`;
  for (const { cwd, reason } of doomed) {
    const folder = table?.hasFolders ? undefined : cwd;
    yield (lines.next().value ?? "") + more("folder", folder) + more("reason", reason);
  }
}

/** Each session on lines of its own. An id that is wider than these is broken by the terminal, so that it can be copied. */
function* alone(rows: readonly Row[], width: number): Generator<string, undefined> {
  const shown = shownOn(true);
  for (const row of rows) {
    const { id, title, turns, started, lastActive } = row;
    const known = [
      ...(turns === undefined ? [] : [counted(turns, "Turn")]),
      ...(lastActive === undefined ? [] : [`last active ${localTime(lastActive)}`]),
      ...(lastActive === undefined && started !== undefined ? [`made ${localTime(started)}`] : []),
    ];
    const lines = [
      shown(id),
      ...(title === undefined && row.header === undefined ? [] : [`  ${titleCell(row, width - 2)}`]),
      ...(known.length === 0 ? [] : [hanging(`  ${known.join(", ")}`, width, "    ")]),
    ];
    yield lines.map((line) => `${line}\n`).join("");
  }
}

function toRow({ id, title, turns, createdAt, lastActive, cwd, parentSession }: Doomed): Row {
  return {
    id,
    ...(title === undefined ? {} : { title }),
    ...(turns === undefined ? {} : { turns }),
    ...(createdAt === undefined ? {} : { started: createdAt }),
    ...(lastActive === undefined ? {} : { lastActive }),
    ...(cwd === undefined ? {} : { folder: cwd }),
    ...(parentSession === undefined ? {} : { header: { parentSession } }),
  };
}

/** With its end. @param width columns of the terminal, if there is one */
export function goneText({ id, path }: Gone, width: number | undefined): string {
  const shown = shownOn(width !== undefined);
  const where = path === undefined ? "for good" : `it is in ${shown(path)}`;
  return `${hanging(`already gone ${shown(id)}: ${where}`, width, "  ")}\n`;
}

/** What follows where nothing is deleted: some of what was named is not there, or all of it was deleted before. */
export function missingText(missing: readonly Missing[], store: StoreName, shown: Shown): string {
  const where = shown(formatStoreName(store));
  const text =
    missing.length === 0
      ? `nothing was deleted: what was named is not in ${where} any more`
      : missing.length === 1
        ? `nothing was deleted: a session that was named is not in ${where}`
        : `nothing was deleted: ${missing.length} sessions that were named are not in ${where}`;
  const alike = missing.filter(({ candidates }) => candidates.length > 0);
  const lines =
    missing.length === 0
      ? []
      : alike.length === 0
        ? ["Check the ids, and that this is the store you mean."]
        : alike.map(
            ({ id, candidates }) =>
              `Give whole ids: with ${shown(JSON.stringify(id))} ${candidates.length === 1 ? "begins" : "begin"} ${candidates.map(shown).join(", ")}`,
          );
  return [`holdfast: ${text}`, ...lines.map((line) => `  hint: ${line}`)].map((line) => `${line}\n`).join("");
}

/** With its end. @param width columns of the terminal, if there is one */
export function removedText(removed: Removed, width: number | undefined): string {
  const shown = shownOn(width !== undefined);
  const id = shown(removed.id);
  const line = (text: string) => `${hanging(text, width, "  ")}\n`;
  if (removed.kind === "failed") {
    const hint = removed.hint === undefined ? "" : line(`  hint: ${shown(removed.hint)}`);
    return line(`failed ${id}: ${shown(removed.reason)}`) + hint;
  }
  const where = removed.path === undefined ? "for good" : `moved to ${shown(removed.path)}`;
  return line(`deleted ${id}: ${where}`);
}
