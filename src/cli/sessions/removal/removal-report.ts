import { lastActive, type Outline } from "../../../session/projections/outline.ts";
import type { SessionSummary } from "../../../store/persistence.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { printableLine } from "../../printable.ts";
import { localTime } from "../list/table.ts";
import { salvageCommand, shellWord } from "../next-step.ts";

/** A session that shall go. Times are epoch milliseconds. Source: docs/cli.md. */
export interface Doomed {
  readonly id: string;
  /** This, and `turns` and `lastActive`, where its log was read. */
  readonly title?: string;
  readonly turns?: number;
  readonly createdAt?: number;
  readonly lastActive?: number;
  readonly cwd?: string;
  /** Why it cannot be read, if that is known. */
  readonly reason?: string;
}

/** A session that was named and is not there. */
export interface Missing {
  readonly id: string;
  /** Some of those whose ids begin so. */
  readonly candidates: readonly string[];
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
    ...(problem === undefined ? {} : { reason: problem.reason }),
  };
}

/** One line for people, with its end. */
export function doomedText({ id, title, turns, createdAt, lastActive: active, cwd, reason }: Doomed): string {
  const parts = [
    title === undefined ? [] : [`“${title}”`],
    turns === undefined ? [] : [turns === 1 ? "1 Turn" : `${turns} Turns`],
    createdAt === undefined ? [] : [`created ${localTime(createdAt)}`],
    active === undefined ? [] : [`last active ${localTime(active)}`],
    cwd === undefined ? [] : [`folder ${cwd}`],
    reason === undefined ? [] : [reason],
  ].flat();
  return `${printableLine(parts.length === 0 ? `to delete ${id}` : `to delete ${id}: ${parts.join(", ")}`)}\n`;
}

/** What follows where sessions that were named are not there. */
export function missingText(missing: readonly Missing[], store: StoreName): string {
  const where = formatStoreName(store);
  const text =
    missing.length === 1
      ? `nothing was deleted: a session that was named is not in ${where}`
      : `nothing was deleted: ${missing.length} sessions that were named are not in ${where}`;
  const alike = missing.filter(({ candidates }) => candidates.length > 0);
  const lines =
    alike.length === 0
      ? ["Check the ids, and that this is the store you mean."]
      : alike.map(
          ({ id, candidates }) =>
            `Give whole ids: with ${JSON.stringify(id)} ${candidates.length === 1 ? "begins" : "begin"} ${candidates.join(", ")}`,
        );
  return [`holdfast: ${text}`, ...lines.map((line) => `  hint: ${line}`)]
    .map((line) => `${printableLine(line)}\n`)
    .join("");
}

export function removedText(removed: Removed): string {
  const { id } = removed;
  if (removed.kind === "failed") {
    const hint = removed.hint === undefined ? "" : `\n  hint: ${printableLine(removed.hint)}`;
    return `${printableLine(`failed ${id}: ${removed.reason}`)}${hint}\n`;
  }
  const where = removed.path === undefined ? "for good" : `moved to ${removed.path}`;
  return `${printableLine(`deleted ${id}: ${where}`)}\n`;
}

/** More are not named one by one. */
const MOST_NAMED = 4;

/** Whether an id can be typed as it is printed, and is not taken for a flag. */
function isPlain(id: string): boolean {
  return !id.startsWith("-") && printableLine(id) === id;
}

/** Commands that bring back what lies in the trash: one for all logs, and one for each file of rows. */
export function restoreCommands(
  removed: readonly Removed[],
  trash: string,
  store: StoreName,
): readonly string[] {
  const kept = removed.filter((result) => result.kind === "deleted");
  const logs = kept.filter(({ form }) => form === "log");
  const to = `--to ${shellWord(formatStoreName(store))}`;
  const isNamed = logs.length <= MOST_NAMED && logs.every(({ id }) => isPlain(id));
  const ids = isNamed ? logs.map(({ id }) => shellWord(id)) : ["--all"];
  const from = `--from ${shellWord(`jsonl:${trash}`)}`;
  const copy = logs.length === 0 ? [] : [`holdfast sessions copy ${ids.join(" ")} ${from} ${to}`];
  const salvages = kept.flatMap(({ form, path }) =>
    form === "rows" && path !== undefined ? [salvageCommand(path, []).replace(/--to STORE$/, () => to)] : [],
  );
  return [...copy, ...salvages].map(printableLine);
}
