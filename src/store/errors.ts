import {
  CorruptError,
  HoldfastError,
  InvalidEventError,
  NotSerialisableError,
  type Place,
  UnsupportedFormatError,
} from "../session/errors.ts";

export { CorruptError, HoldfastError, InvalidEventError, NotSerialisableError, UnsupportedFormatError };

/** No session of this id is in the store. */
export class NotFoundError extends HoldfastError {
  readonly code = "not-found";

  constructor(
    sessionId: string,
    path?: string,
    message = `There is no session ${JSON.stringify(sessionId)}`,
    hint = "Check the id, and that this is the store you mean.",
  ) {
    super(message, { place: { sessionId, ...(path === undefined ? {} : { path }) }, hint });
  }
}

/** A session was deleted while it was read. What was read of it is good, and not all. */
export class SessionGoneError extends NotFoundError {
  constructor(sessionId: string, path: string) {
    super(
      sessionId,
      path,
      `The session ${JSON.stringify(sessionId)} was deleted while it was read`,
      "What was read of it is not all. `holdfast sessions delete` tells where it put what it took out.",
    );
  }
}

/** Nothing lies where a store was to be read. Nothing was made either. */
export class StoreNotFoundError extends HoldfastError {
  readonly code = "not-found";

  constructor(
    path: string,
    message = "There is no store",
    hint = "Check the path. `holdfast serve` makes a store where there is none; reading does not.",
  ) {
    super(message, { place: { path }, hint });
  }
}

/** A session of this id exists, or is registered, already. */
export class AlreadyExistsError extends HoldfastError {
  readonly code = "already-exists";

  constructor(sessionId: string, hint = "Resume it, or create one with another id.") {
    super(`A session ${JSON.stringify(sessionId)} exists already`, { place: { sessionId }, hint });
  }
}

/** Where a session shall be copied to, another one has its id. Nothing was written. */
export class CopyConflictError extends HoldfastError {
  readonly code = "already-exists";

  /** `how` says in what the other one differs, as in "has other events". */
  constructor(sessionId: string, how: string) {
    super(`The session ${JSON.stringify(sessionId)} of the target ${how}`, {
      place: { sessionId },
      hint: "Copy to another store, or delete that session first if it is not needed.",
    });
  }
}

/** The session is open for writing in this process, so it can be neither reserved again nor deleted. */
export class SessionOpenError extends HoldfastError {
  readonly code = "session-open";

  constructor(sessionId: string) {
    super(`The session ${JSON.stringify(sessionId)} is open already`, {
      place: { sessionId },
      hint: "Use the Session that is open, or close it first.",
    });
  }
}

/** The writer's cursor is not where the durable tail is. Nothing was written. */
export class SequenceConflictError extends HoldfastError {
  readonly code = "sequence-conflict";
  /** Seq that the writer sent. */
  readonly sent: number;
  /** Seq that comes next in the store. */
  readonly next: number;

  constructor(sessionId: string, sent: number, next: number) {
    super(`The append starts at seq ${sent}, but the log goes on at seq ${next}`, {
      place: { sessionId, seq: sent },
      hint: "Another writer was faster, or this one is behind. Load the session again and append to its end.",
    });
    this.sent = sent;
    this.next = next;
  }
}

/** Who holds a store: as the holder wrote it down when it took the lock. */
export interface LockHolder {
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** Another process writes this store. */
export class LockedError extends HoldfastError {
  readonly code = "locked";
  readonly holder: LockHolder | undefined;

  /** `instead` says what else can be done than to stop the holder. */
  constructor(path: string, holder: LockHolder | undefined, instead = "or use another store") {
    const who =
      holder === undefined
        ? "another process"
        : `process ${holder.pid}, which started at ${holder.startedAt}`;
    super(`The store is in use by ${who}`, {
      place: { path },
      hint: `Stop that process, ${instead}. The lock is freed the moment its process ends.`,
    });
    this.holder = holder;
  }
}

/** No space is left for the store. Nothing of what was to be written was kept. */
export class StorageFullError extends HoldfastError {
  readonly code = "storage-full";

  /** `message` says what could not be done, `hint` what to do where it was no append of a Host. */
  constructor(
    place: Place,
    cause?: unknown,
    message = "The append could not be saved: the storage is full",
    hint = "Free some space and try again. A Host that runs goes on where the log ends, without a restart.",
  ) {
    super(message, { place, hint, cause });
  }
}

/** The storage refused or failed an operation. Nothing of the append was kept. */
export class StorageFailedError extends HoldfastError {
  readonly code = "storage-failed";

  constructor(message: string, options: { place?: Place; hint?: string; cause?: unknown } = {}) {
    super(message, {
      hint: options.hint ?? "Look at the disk and the system log, then try again.",
      ...(options.place === undefined ? {} : { place: options.place }),
      ...(options.cause === undefined ? {} : { cause: options.cause }),
    });
  }
}

/** A store that keeps sessions in files cannot name one after this id. */
export class IdTooLongError extends StorageFailedError {}

/** The store, or the session that was written to, was closed. */
export class ClosedError extends HoldfastError {
  readonly code = "closed";

  constructor(what: "store" | "session" = "store") {
    super(`The ${what} is closed`, { hint: "Open it again; what was acknowledged is in it." });
  }
}

/**
 * The one table from error code to HTTP status, exit code and a title for people. Codes are stable.
 * Source of the exit codes: docs/cli.md.
 */
export const STORE_ERROR_TABLE = {
  "not-found": { status: 404, exit: 3, title: "Not found" },
  "already-exists": { status: 409, exit: 4, title: "Already exists" },
  "session-open": { status: 409, exit: 4, title: "Session is open" },
  "sequence-conflict": { status: 409, exit: 4, title: "Sequence conflict" },
  locked: { status: 503, exit: 6, title: "Store is in use" },
  corrupt: { status: 500, exit: 5, title: "Stored data is corrupt" },
  "unsupported-format": { status: 500, exit: 7, title: "Unsupported format" },
  "not-serialisable": { status: 422, exit: 1, title: "Not serialisable" },
  "invalid-event": { status: 422, exit: 1, title: "Invalid event" },
  "storage-full": { status: 507, exit: 1, title: "Storage is full" },
  "storage-failed": { status: 500, exit: 1, title: "Storage failed" },
  closed: { status: 503, exit: 1, title: "Closed" },
} as const;

/** The last one: no room for the index of the write-ahead log, which SQLite makes when it opens a database. */
const FULL_CODES = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"]);
/** The last one: a page that lies behind the end of the file. */
const CORRUPT_CODES = new Set(["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ"]);

const HINTS: Readonly<Record<string, string>> = {
  ENOTDIR: "A part of the path is a file, not a folder. Name another path.",
  EEXIST: "A part of the path is a file, not a folder. Name another path.",
  EACCES: "This user may not use the path. Change its permissions, or name another path.",
  EPERM: "This user may not use the path. Change its permissions, or name another path.",
  ENAMETOOLONG: "The path is too long, or a name in it. Name a shorter one.",
  ELOOP: "Links in the path lead in a circle. Name another path, or remove them.",
  EROFS: "The file system is read-only. Name a path on another one.",
  SQLITE_READONLY: "The file cannot be written. Change its permissions, or name another path.",
  SQLITE_CANTOPEN: "The file or its folder cannot be opened. Check the permissions of both.",
};

/** Code of a system or SQLite error, such as `ENOSPC` or `SQLITE_FULL`. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Turns what a file or database operation threw into a typed error; typed errors pass unchanged. */
export function toStorageError(error: unknown, what: string, place: Place): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const code = errorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code !== undefined && FULL_CODES.has(code)) {
    return new StorageFullError(place, error, `${what}: the storage is full`);
  }
  if (code !== undefined && [...CORRUPT_CODES].some((known) => code.startsWith(known))) {
    return new CorruptError(what, {
      expected: "a sound SQLite database",
      found: message,
      place,
      cause: error,
    });
  }
  const detail = code === undefined || message.includes(code) ? message : `${message} (${code})`;
  const hint = code === undefined ? undefined : HINTS[code];
  return new StorageFailedError(`${what}: ${detail}`, {
    place,
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
