import type { Place } from "../../session/errors.ts";
import type { ExaminedSession, StoreExaminer } from "../examiner.ts";
import type { Finding } from "../finding.ts";
import { type Beginning, readBeginning } from "./beginning.ts";
import {
  describeDuplicate,
  findLogs,
  idsInSeveralPlaces,
  type LogEntry,
  logsOf,
  newerGeneration,
  projectsOf,
} from "./directory.ts";
import { examineBody, noItems, type Patience, unreadable } from "./examine-log.ts";
import { decodeId, encodeId, projectFolder } from "./layout.ts";
import { LogFile } from "./log-file.ts";
import { usedRoot } from "./root.ts";

/** A root of session logs, opened for a check. @throws StoreNotFoundError, StorageFailedError */
export async function examineJsonl(path: string, patience?: Patience): Promise<StoreExaminer> {
  const root = usedRoot(path);
  // Of a root that may not be read nothing is known, not even that something is wrong.
  projectsOf(root);
  return new JsonlExaminer(root, patience);
}

class JsonlExaminer implements StoreExaminer {
  readonly #root: string;
  readonly #patience: Patience | undefined;

  constructor(root: string, patience: Patience | undefined) {
    this.#root = root;
    this.#patience = patience;
  }

  /** A root is no more than its logs. */
  async *checkStore(): AsyncGenerator<Finding> {
    try {
      projectsOf(this.#root);
    } catch (error) {
      yield unreadable(error, { path: this.#root });
    }
  }

  async *sessions(ids?: readonly string[]): AsyncGenerator<ExaminedSession> {
    for (const { entry, isSuspect } of suspectEntries(this.#root, ids)) {
      yield examineEntry(this.#root, entry, isSuspect, this.#patience);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Each log is opened when it is read, and closed again.
  }
}

/** A log, and whether another one may have its id. */
interface SuspectEntry {
  readonly entry: LogEntry;
  readonly isSuspect: boolean;
}

/** The logs of a root, sorted; nothing where it may not be read, which is a finding of the store. */
export function* suspectEntries(root: string, ids?: readonly string[]): Generator<SuspectEntry> {
  const wanted = ids === undefined ? undefined : new Set(ids.map(encodeId));
  const projects = tryProjects(root);
  const suspects = idsInSeveralPlaces(root, projects);
  for (const project of projects) {
    for (const entry of logsOf(root, project)) {
      if (wanted?.has(entry.encodedId) === false) continue;
      yield { entry, isSuspect: entry.hasSibling || suspects.has(entry.encodedId) };
    }
  }
}

function tryProjects(root: string): string[] {
  try {
    return projectsOf(root);
  } catch {
    return [];
  }
}

/** What a log begins with, and what is wrong with that and with its place. */
export interface EntryBeginning extends Beginning {
  readonly id: string;
  readonly findings: readonly Finding[];
}

/** Reads the beginning of a log in a root. Never throws. */
export function beginEntry(root: string, entry: LogEntry, isSuspect: boolean): EntryBeginning {
  const { path, encodedId, version } = entry;
  const id = decodeId(encodedId) ?? encodedId;
  const place = { path, sessionId: id };
  if (entry.isClosed === true) {
    const message = "This user may not look into the folder";
    return { id, findings: [{ code: "unreadable", message, place }] };
  }
  if (version !== undefined) {
    const { message } = newerGeneration(id, path, version);
    return { id, findings: [{ code: "unsupported-version", message, place }] };
  }
  const findings = isSuspect ? duplicatesOf(root, id, place) : [];
  try {
    using file = new LogFile(entry);
    const beginning = readBeginning(file);
    const { header, finding } = beginning;
    // The session is asked for by the name of its folder, also where its header says another one.
    const own = decodeId(encodedId) ?? header?.id ?? id;
    if (finding !== undefined) findings.push({ ...finding, place: { ...place, ...finding.place } });
    if (header !== undefined) findings.push(...misplaced(entry, header, { ...place, sessionId: own }));
    return { ...beginning, id: own, findings };
  } catch (error) {
    return { id, findings: [...findings, unreadable(error, place)] };
  }
}

function examineEntry(
  root: string,
  entry: LogEntry,
  isSuspect: boolean,
  patience: Patience | undefined,
): ExaminedSession {
  const { id, headerText, header, findings, body } = beginEntry(root, entry, isSuspect);
  return {
    id,
    location: entry.path,
    ...(headerText === undefined ? {} : { headerText }),
    ...(header === undefined ? {} : { header }),
    findings,
    items: () => (body === undefined ? noItems() : examineBody(entry, id, body, patience)),
  };
}

function duplicatesOf(root: string, id: string, place: Place): Finding[] {
  const logs = findLogs(root, id).filter(({ version }) => version === undefined);
  if (logs.length <= 1) return [];
  return [{ code: "duplicate", message: describeDuplicate(logs.map(({ path }) => path)), place }];
}

/** Whether a log lies where its header belongs. */
function misplaced(
  { encodedId, key: [project] }: LogEntry,
  { id, cwd }: { readonly id: string; readonly cwd?: string },
  place: Place,
): Finding[] {
  const findings: Finding[] = [];
  if (encodeId(id) !== encodedId) {
    findings.push({
      code: "header-misplaced",
      message: "The header belongs to another session than the name of the folder or file says",
      expected: `the name ${encodeId(id)}`,
      found: encodedId,
      place,
    });
  }
  const folder = projectFolder(cwd);
  if (folder !== project) {
    findings.push({
      code: "other-folder",
      message: "The log lies in another project's folder than its working directory names",
      expected: folder,
      found: project,
      place,
    });
  }
  return findings;
}
