import { type Dirent, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode, StorageFailedError, toStorageError } from "../errors.ts";
import type { Examination, LogsReport } from "../health/examination.ts";
import { finding, findingOf, type HealthFinding } from "../health/findings.ts";
import { FileCounter, judgeKept, keptKind } from "../health/kept-files.ts";
import type { LockProbe } from "../writer-lock.ts";
import { findLogs, idsInSeveralPlaces, projectsOf } from "./directory.ts";
import { decodeId, flatLog, INDEX_SUFFIX, roleOf } from "./layout.ts";
import { usedRoot } from "./root.ts";

export { lockFiles } from "./layout.ts";

/** Looks at the session logs below a resolved root by their names and sizes. Opens no log, and changes nothing. */
export function examineRoot(root: string, lock: LockProbe): Examination {
  const files = new FileCounter();
  try {
    const found = statSync(root, { throwIfNoEntry: false });
    if (found === undefined) return { state: "absent", files, copyBytes: 0, findings: [] };
    if (!found.isDirectory()) throw notAFolder(root);
    return examineFolder(root, lock, files);
  } catch (error) {
    const refusal = findingOf(toStorageError(error, "The session root cannot be used", { path: root }));
    return { state: "refused", files, copyBytes: 0, findings: [refusal] };
  }
}

function examineFolder(root: string, lock: LockProbe, files: FileCounter): Examination {
  // As if it were not there: a Host begins in it.
  if (readdirSync(root).length === 0) return { state: "absent", files, copyBytes: 0, findings: [] };
  const walk = new Walk(root, files);
  // What lies in closed folders is not known.
  if (walk.closed.length === 0) usedRoot(root);
  const logs: LogsReport = {
    zstd: files.of("zstd"),
    plain: files.of("none"),
    later: files.of("later"),
    indexes: files.of("index"),
    backups: files.of("backup"),
    quarantine: files.of("quarantine"),
    drafts: files.of("draft"),
    duplicates: countDuplicates(root, walk),
    closedFolders: walk.closed.length,
  };
  return {
    state: "store",
    files,
    // A repair copies one log.
    copyBytes: files.largest,
    logs,
    findings: [...judge(root, logs, walk, lock), ...judgeKept(logs, `below ${root}`)],
  };
}

/** Every folder of a root, entry by entry. */
class Walk {
  readonly projects: readonly string[];
  /** Folders that this user may not look into. */
  readonly closed: string[] = [];
  /** What has the name of a log and is no file: a pipe, a folder, a link that leads nowhere. */
  readonly odd: string[] = [];
  /** Ids, as folders are named by them, of which one folder holds several logs. */
  readonly siblings = new Set<string>();
  readonly #files: FileCounter;

  constructor(root: string, files: FileCounter) {
    this.#files = files;
    this.projects = projectsOf(root);
    for (const project of this.projects) this.#project(join(root, project));
  }

  #project(folder: string): void {
    for (const entry of this.#look(folder)) {
      const path = join(folder, entry.name);
      const flat = flatLog(entry.name);
      if (isFolder(entry, path)) this.#session(entry.name, path);
      else if (flat !== undefined) this.#log(flat.encoding, path);
      else this.#beside(entry.name, path);
    }
  }

  #session(encodedId: string, folder: string): void {
    let logs = 0;
    for (const { name } of this.#look(folder)) {
      const path = join(folder, name);
      const role = roleOf(name);
      if (role.kind === "log") {
        logs += 1;
        this.#log(role.encoding, path);
      } else if (role.kind === "generation") this.#files.add("later", path);
      else if (role.kind === "draft") this.#files.add("draft", path);
      else this.#beside(name, path);
    }
    if (logs > 1) this.siblings.add(encodedId);
  }

  #log(kind: string, path: string): void {
    this.#files.add(kind, path);
    if (isOdd(path)) this.odd.push(path);
  }

  #beside(name: string, path: string): void {
    const kind = name.endsWith(INDEX_SUFFIX) ? "index" : keptKind(name);
    if (kind !== undefined) this.#files.add(kind, path);
  }

  #look(folder: string): Dirent[] {
    try {
      return readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      if (errorCode(error) !== "ENOENT") this.closed.push(folder);
      return [];
    }
  }
}

function isFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false; // a link to itself
  }
}

/** Whether it is known that no file is there. */
function isOdd(path: string): boolean {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined) return !stat.isFile();
    // What was deleted meanwhile is not there at all.
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return errorCode(error) === "ELOOP";
  }
}

function countDuplicates(root: string, { projects, siblings }: Walk): number {
  const suspects = new Set([...siblings, ...idsInSeveralPlaces(root, projects)]);
  let count = 0;
  for (const encodedId of suspects) {
    const id = decodeId(encodedId);
    if (id === undefined) continue;
    try {
      if (findLogs(root, id).filter(({ version }) => version === undefined).length > 1) count += 1;
    } catch {
      // A folder that this user may not look into is counted as such.
    }
  }
  return count;
}

function judge(root: string, logs: LogsReport, { closed, odd }: Walk, lock: LockProbe): HealthFinding[] {
  const findings: HealthFinding[] = [];
  const where = `below ${root}`;
  if (logs.duplicates > 0) {
    findings.push(
      finding(
        "duplicates",
        `Several files claim one session id (${logs.duplicates} of them): none is opened`,
        {
          where,
          hint: "`holdfast sessions list` names the files. Move all but one of each out of the root.",
        },
      ),
    );
  }
  if (logs.closedFolders > 0) {
    findings.push(
      finding("closed-folders", `This user may not look into ${logs.closedFolders} of the folders`, {
        where: closed[0] ?? where,
        hint: "What lies there is unknown. Change the permissions, or run as the owner.",
      }),
    );
  }
  const [firstOdd, ...otherOdd] = odd.toSorted();
  if (firstOdd !== undefined) {
    const more = otherOdd.length === 0 ? "" : `, and ${otherOdd.length} more`;
    findings.push(
      finding("not-files", "What has the name of a session log is no file", {
        where: `${firstOdd}${more}`,
        hint: "Nothing can be read there. Move it out of the root; where it is a link, bring back what it led to.",
      }),
    );
  }
  if (logs.later.files > 0) {
    findings.push(
      finding("later-formats", `There are logs of a later format (${logs.later.files} of them)`, {
        where,
        hint: "Use a newer program for them. This one lists them and leaves them as they are.",
      }),
    );
  }
  if (logs.drafts.files > 0 && lock.state === "free") {
    findings.push(
      finding("drafts-left", "Logs that were being made were left unfinished by a process that was killed", {
        where,
        hint: "Nothing in them was acknowledged. The next Host removes them.",
      }),
    );
  }
  return findings;
}

function notAFolder(root: string): StorageFailedError {
  return new StorageFailedError("The path of the session root is a file", {
    place: { path: root },
    hint: "Name a folder. A database file is named with --session-db.",
  });
}
