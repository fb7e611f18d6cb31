import type { SessionSummary } from "../../../store/persistence.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { printableLine } from "../../printable.ts";
import { formatTime } from "../list/table.ts";
import { salvageCommand, shellWord } from "../next-step.ts";

/** A session that shall go. Times are epoch milliseconds. Source: docs/cli.md. */
export interface Doomed {
  readonly id: string;
  readonly createdAt?: number;
  /** When its last event happened: of `prune` only. */
  readonly lastActive?: number;
  readonly cwd?: string;
  /** Why it cannot be read, if that is known. */
  readonly reason?: string;
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

export function toDoomed({ id, header, problem }: SessionSummary, lastActive?: number): Doomed {
  return {
    id,
    ...(header === undefined ? {} : { createdAt: header.createdAt }),
    ...(lastActive === undefined ? {} : { lastActive }),
    ...(header?.cwd === undefined ? {} : { cwd: header.cwd }),
    ...(problem === undefined ? {} : { reason: problem.reason }),
  };
}

/** One line for people, with its end. */
export function doomedText({ id, createdAt, lastActive, cwd, reason }: Doomed): string {
  const parts = [
    createdAt === undefined ? [] : [`created ${formatTime(createdAt)}`],
    lastActive === undefined ? [] : [`last active ${formatTime(lastActive)}`],
    cwd === undefined ? [] : [`folder ${cwd}`],
    reason === undefined ? [] : [reason],
  ].flat();
  return `${printableLine(parts.length === 0 ? `delete ${id}` : `delete ${id}: ${parts.join(", ")}`)}\n`;
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
