import type { Finding, FindingCode } from "../../store/finding.ts";
import type { RepairStep } from "../../store/repairer.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import { printableLine } from "../printable.ts";

/* Commands that a person may type next, whole, with the names of this store. */

/** What leaves a log readable, so that a repair has nothing to cut; a salvage puts it right in a new session. */
const FOR_SALVAGE: ReadonlySet<FindingCode> = new Set(["tool-pairing", "turn-balance", "header-misplaced"]);

/**
 * What to do about the errors of a check. A repair also says of what it cannot help what to do instead.
 * @param ids sessions that were asked for; of all when there are none
 */
export function afterVerify(
  codes: ReadonlySet<Finding["code"]>,
  ids: readonly string[],
  store: StoreName,
): string {
  if ([...codes].every((code) => FOR_SALVAGE.has(code))) return salvageCommand(formatStoreName(store), ids);
  return sessionsCommand("repair --dry-run", ids, storeFlag(store));
}

/** How to get the events back that a repair sets aside: a command for each file that holds them. */
export function afterRepair(steps: readonly RepairStep[], store: StoreName): readonly string[] {
  const sources = new Map<string, readonly string[]>();
  for (const step of steps) {
    const { source, id } = setAsideBy(step) ?? {};
    if (source === undefined) continue;
    // The backup of a log holds one session; that of a database the others, too.
    const own = id === undefined || store.kind === "jsonl" ? [] : [id];
    sources.set(source, [...(sources.get(source) ?? []), ...own]);
  }
  return [...sources].map(([source, ids]) => salvageCommand(source, ids.length > MOST_NAMED ? [] : ids));
}

/** Without any name a salvage takes all sessions that are damaged. */
const MOST_NAMED = 4;

/** The file that has all of what a step sets aside, and perhaps what came before it; nothing where no event is among it. */
function setAsideBy(step: RepairStep): { readonly source: string; readonly id?: string } | undefined {
  if (step.kind === "session") return step.cut.events > 0 ? { source: step.backup, id: step.id } : undefined;
  if (step.kind === "foreign" && step.events === 0) return undefined;
  return step.quarantine === undefined ? undefined : { source: step.quarantine };
}

/** With STORE in the place of the target. */
export function salvageCommand(from: string, ids: readonly string[]): string {
  return sessionsCommand("salvage", ids, `--from ${shellWord(from)} --to STORE`);
}

/**
 * A command of the group for these sessions.
 * @param name with what always goes with it
 * @param flags as a shell takes them
 */
function sessionsCommand(name: string, ids: readonly string[], flags: string): string {
  const words = ids.map(shellWord);
  // An id that begins like a flag is none behind `--`, and all that follows it are ids.
  const rest = ids.some((id) => id.startsWith("-")) ? [flags, "--", ...words] : [...words, flags];
  return ["holdfast sessions", name, ...rest].join(" ");
}

/** The command that shows all of a session. */
export function showCommand(id: string, store: StoreName): string {
  const dashes = id.startsWith("-") ? "-- " : "";
  return `holdfast sessions show ${dashes}${shellWord(id)} ${shellWord(formatStoreName(store))}`;
}

/** The command that lists the sessions of a store. */
export function listCommand(store: StoreName): string {
  return `holdfast sessions list ${shellWord(formatStoreName(store))}`;
}

/** The flag that names a store. */
export function storeFlag({ kind, path }: StoreName): string {
  return `${kind === "sqlite" ? "--session-db" : "--session-dir"} ${shellWord(path)}`;
}

/**
 * A word as a POSIX shell takes it, in characters that can be shown and copied. A line feed at the very end gets lost where
 * there are others that cannot.
 */
export function shellWord(text: string): string {
  if (printableLine(text) !== text) return `"$(printf %b '${octal(text)}')"`;
  // Some shells look for a command behind `=`.
  return /^(?!=)[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** What `printf %b` makes the text of: bytes that are no printable ASCII, and what it or a shell would take apart, by number. */
function octal(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /^[ -~]$/.test(character) && !/['\\]/.test(character)
        ? character
        : `\\0${byte.toString(8).padStart(3, "0")}`;
    })
    .join("");
}
