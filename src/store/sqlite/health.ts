import type { Database } from "bun:sqlite";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode, toStorageError } from "../errors.ts";
import type { DatabaseReport, Examination, StoreState } from "../health/examination.ts";
import { finding, findingOf, type HealthFinding } from "../health/findings.ts";
import { FileCounter, judgeKept, keptKind } from "../health/kept-files.ts";
import { isHeldHere, type LockProbe } from "../writer-lock.ts";
import { assertNoOrphan, createStore } from "./create.ts";
import { assertMayWrite, hasLog, identifyDatabase, lookAtHeader, readHeader, sizeOf } from "./identity.ts";
import { openAbandoned, openImmutable, openPlainly } from "./opening.ts";
import { lostFramesError } from "./wal-frames.ts";
import { SqliteWriter } from "./writer.ts";

/* Where the header of a database file keeps what is shown of it. Source: SQLite's documentation of its file format. */
const HEADER_SIZE = 100;
const PAGE_SIZE_OFFSET = 16;
const READ_VERSION_OFFSET = 19;
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;
/** How the format says 64 KiB in two bytes. */
const LARGEST_PAGE = 1;
const WAL_VERSION = 2;

/** A Host keeps its log below that, but for what a reader or a crash keeps it from writing back. */
const LARGE_WAL = 64 * 1024 * 1024;
/** What changes while it is looked at is looked at again. */
const MAX_LOOKS = 3;

/**
 * Looks at the database at `path`, which must be resolved. Changes no byte and makes nothing, and works beside the
 * process that writes it. (Where root reads, SQLite gives a log that it opens to the owner that it has.)
 */
export function examineDatabase(path: string, lock: LockProbe): Examination {
  const files = new FileCounter();
  const [bytes = 0, walBytes = 0, shmBytes = 0, journalBytes = 0] = ["", "-wal", "-shm", "-journal"].map(
    (suffix) => files.add("database", path + suffix),
  );
  for (const name of namesBeside(path)) {
    const kind = keptKind(name.slice(basename(path).length));
    if (kind !== undefined) files.add(kind, join(dirname(path), name));
  }
  // Closing a descriptor of a file would free the locks that this process has on it.
  const isOurs = isHeldHere(path);
  const { state, refusal } = isOurs ? { state: "store" as const } : identifyQuietly(path, lock);
  const database: DatabaseReport = {
    bytes,
    walBytes,
    shmBytes,
    journalBytes,
    ...(isOurs ? {} : headerOf(path)),
    backups: files.of("backup"),
    quarantine: files.of("quarantine"),
  };
  return {
    state,
    files,
    copyBytes: bytes + walBytes,
    database,
    findings: [
      ...(refusal === undefined ? [] : [refusal]),
      ...(state === "store" ? judgeStore(path, database, lock) : []),
      ...judgeLog(path, database, lock, state),
      ...judgeDraft(path, lock),
      ...judgeKept(database, `beside ${path}`),
    ],
  };
}

/**
 * Makes a store in `folder`, opens it as a Host would and closes it again: whether WAL mode and synchronous=FULL take on
 * this file system shows only there. Both are read back. @throws StorageFailedError, StorageFullError
 */
export function tryStore(folder: string): void {
  const path = join(folder, "trial.db");
  createStore(path, { replace: false });
  new SqliteWriter(path).close();
}

function identifyQuietly(
  path: string,
  lock: LockProbe,
): { readonly state: StoreState; readonly refusal?: HealthFinding } {
  for (let looks = 1; ; looks += 1) {
    const before = stampOf(path);
    try {
      return { state: identifyOnce(path, lock) };
    } catch (error) {
      if (stampOf(path) !== before && looks < MAX_LOOKS) continue;
      return {
        state: "refused",
        refusal: findingOf(toStorageError(error, "The store could not be read", { path })),
      };
    }
  }
}

function identifyOnce(path: string, lock: LockProbe): StoreState {
  const kind = lookAtHeader(path);
  if (kind !== "database") {
    assertNoOrphan(path);
    return kind;
  }
  // Until it is rolled back, what is in the file need not fit together.
  if (sizeOf(`${path}-journal`) > 0) return "store";
  using database = open(path, lock);
  return identifyDatabase(database, path);
}

/** Without a file being made or written: the index of a log that nobody has open stays as it is. */
function open(path: string, lock: LockProbe): Database {
  if (!hasLog(path)) return openImmutable(path);
  const isOpen = lock.state === "held" && existsSync(`${path}-shm`);
  return isOpen || process.platform === "win32" ? openPlainly(path) : openAbandoned(path);
}

function stampOf(path: string): string {
  const files = ["", "-wal", "-shm"].map((suffix) => statSync(path + suffix, { throwIfNoEntry: false }));
  return files.map((stat) => `${stat?.ino}.${stat?.size}.${stat?.mtimeMs}`).join(" ");
}

function headerOf(path: string): Partial<DatabaseReport> {
  try {
    const header = readHeader(path);
    if (header === undefined || header.length < HEADER_SIZE) return {};
    lookAtHeader(path);
    const pageSize = header.readUInt16BE(PAGE_SIZE_OFFSET);
    return {
      journalMode: header[READ_VERSION_OFFSET] === WAL_VERSION ? "wal" : "rollback",
      pageSize: pageSize === LARGEST_PAGE ? 65_536 : pageSize,
      applicationId: header.readInt32BE(APPLICATION_ID_OFFSET),
      schemaVersion: header.readInt32BE(USER_VERSION_OFFSET),
    };
  } catch {
    return {}; // a finding says why
  }
}

function judgeStore(path: string, database: DatabaseReport, lock: LockProbe): HealthFinding[] {
  const findings: HealthFinding[] = [];
  const links = hardLinks(path);
  if (links > 1) {
    findings.push(
      finding("hard-links", `The database file has ${links} names (hard links): a Host refuses it`, {
        where: path,
        hint: "Remove the other names, or copy the file to a place of its own and use the copy.",
      }),
    );
  }
  try {
    assertMayWrite(path);
  } catch (error) {
    const { what, ...more } = findingOf(error);
    findings.push(finding("not-writable", what, more));
  }
  if (database.journalMode === "rollback" && lock.state !== "held") {
    findings.push(
      finding("rollback-journal", "The database is not in WAL mode: another program changed that", {
        where: path,
        hint: "Nothing to do: a Host sets WAL mode when it opens the store.",
      }),
    );
  }
  return findings;
}

function judgeLog(
  path: string,
  { walBytes, journalBytes }: DatabaseReport,
  lock: LockProbe,
  state: StoreState,
): HealthFinding[] {
  const findings: HealthFinding[] = [];
  const isLeft = state === "store" && lock.state === "free";
  if (walBytes > LARGE_WAL) {
    findings.push(
      finding("wal-large", "The write-ahead log has grown beyond 64 MiB", {
        where: `${path}-wal`,
        hint: isLeft
          ? "Start a Host on the store once and stop it with SIGTERM: that writes the log back."
          : "A program that reads the store for long, such as a sqlite3 shell, keeps it from shrinking. End that one.",
      }),
    );
  }
  const lost = isLeft && walBytes > 0 ? lostFramesError(path) : undefined;
  if (lost !== undefined) findings.push(findingOf(lost));
  if (isLeft && walBytes > 0 && lost === undefined) {
    findings.push(
      finding("wal-left", "Commits lie in the write-ahead log, as after a process that was killed", {
        where: `${path}-wal`,
        hint: "Nothing is lost: the next Host takes them in. Never delete this file or part it from the database.",
      }),
    );
  }
  if (isLeft && journalBytes > 0) {
    findings.push(
      finding("journal-left", "A journal of an unfinished change lies beside the database", {
        where: `${path}-journal`,
        hint: "The next Host undoes that change. Never delete this file or part it from the database.",
      }),
    );
  }
  return findings;
}

function judgeDraft(path: string, lock: LockProbe): HealthFinding[] {
  const draft = `${path}.creating`;
  if (lock.state !== "free" || !existsSync(draft)) return [];
  return [
    finding("drafts-left", "A store that was being made was left unfinished by a process that was killed", {
      where: draft,
      hint: "Nothing was in it. It may be deleted; a Host that makes the store does so itself.",
    }),
  ];
}

/** Names of the file itself. One of a store that was just made is taken away by the next Host. */
function hardLinks(path: string): number {
  const [store, draft] = [path, `${path}.creating`].map((name) => statSync(name, { throwIfNoEntry: false }));
  if (store === undefined) return 0;
  const isDraft = draft !== undefined && draft.ino === store.ino && draft.dev === store.dev;
  return isDraft ? store.nlink - 1 : store.nlink;
}

/** Names of other files in the folder that begin with the name of the database. */
function namesBeside(path: string): string[] {
  try {
    return readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return [];
    throw error;
  }
}
