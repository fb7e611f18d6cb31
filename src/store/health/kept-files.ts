import { type Stats, statSync } from "node:fs";
import { finding, type HealthFinding } from "./findings.ts";

/** Files of one kind: how many, and their bytes. */
export interface Tally {
  readonly files: number;
  readonly bytes: number;
}

/** What repair leaves beside a log or a database: `<name>.backup-…` and `<name>.quarantine-…`, and the tails of logs. */
const BACKUP = /\.backup-/;
const QUARANTINE = /\.quarantine-|\.torn-\d+(-\d+)?$/;

export function keptKind(name: string): "backup" | "quarantine" | undefined {
  if (QUARANTINE.test(name)) return "quarantine";
  return BACKUP.test(name) ? "backup" : undefined;
}

/** Counts files, and notices those that others than their owner may read or write. Reads no file. */
export class FileCounter {
  readonly #tallies = new Map<string, Tally>();
  readonly #exposed: { readonly path: string; readonly bits: number }[] = [];
  #largest = 0;

  /** Counts a file, if there is one, and returns its size. */
  add(kind: string, path: string): number {
    const stat = statOf(path);
    if (stat?.isFile() !== true) return 0;
    const { files, bytes } = this.of(kind);
    this.#tallies.set(kind, { files: files + 1, bytes: bytes + stat.size });
    this.#look(path, stat.mode & 0o066);
    this.#largest = Math.max(this.#largest, stat.size);
    return stat.size;
  }

  of(kind: string): Tally {
    return this.#tallies.get(kind) ?? { files: 0, bytes: 0 };
  }

  /** Size of the largest file of all. */
  get largest(): number {
    return this.#largest;
  }

  /** Notices a folder in which everybody may replace files. */
  addFolder(path: string): void {
    const mode = statOf(path)?.mode ?? 0;
    const isSticky = (mode & 0o1000) !== 0;
    this.#look(path, isSticky ? 0 : mode & 0o002);
  }

  /** Remembers what a mode gives away. Windows has other permissions than these. */
  #look(path: string, bits: number): void {
    if (bits !== 0 && process.platform !== "win32") this.#exposed.push({ path, bits });
  }

  /** What is to be said about permissions. */
  judge(): HealthFinding[] {
    const findings: HealthFinding[] = [];
    for (const [code, mask, verb] of [
      ["writable-by-others", 0o022, "written"],
      ["readable-by-others", 0o044, "read"],
    ] as const) {
      const [first, ...others] = this.#exposed.filter(({ bits }) => (bits & mask) !== 0);
      if (first === undefined) continue;
      const more = others.length === 0 ? "" : `, and ${others.length} more`;
      findings.push(
        finding(code, `Files of the store can be ${verb} by others than their owner`, {
          where: `${first.path}${more}`,
          hint: "Take the permissions away, as with chmod go=. What Holdfast makes is 0600.",
        }),
      );
    }
    if (findings.length > 0) return findings;
    return [finding("private", "The files of the store are for their owner alone")];
  }
}

/** What is to be said about files that a repair left. */
export function judgeKept(
  { backups, quarantine }: { readonly backups: Tally; readonly quarantine: Tally },
  where: string,
): HealthFinding[] {
  const findings: HealthFinding[] = [];
  if (quarantine.files > 0) {
    findings.push(
      finding("quarantine", `${count(quarantine.files, "file")} with what was cut off or set aside`, {
        where,
        hint: "No Host reads them. `holdfast sessions salvage --from FILE` does; delete them when nothing in them is needed.",
      }),
    );
  }
  if (backups.files > 0) {
    findings.push(
      finding("backups", `${count(backups.files, "backup")} from before a repair`, {
        where,
        hint: "`holdfast sessions salvage --from FILE` reads them. Delete them when the repaired sessions are as they should be.",
      }),
    );
  }
  return findings;
}

function count(number: number, noun: string): string {
  return `There ${number === 1 ? "is" : "are"} ${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** What is at a path; nothing where nothing is, or where this user may not look. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // also a link to itself, or something below a file
  }
}
