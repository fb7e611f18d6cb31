import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import type { Revision } from "../backend.ts";
import {
  errorCode,
  type HoldfastError,
  SessionGoneError,
  StorageFailedError,
  toStorageError,
} from "../errors.ts";
import type { Encoding } from "./layout.ts";
import { revisionUpTo } from "./revision.ts";

/** Where a log lies. */
export interface LogLocation {
  readonly path: string;
  readonly encoding: Encoding;
}

/** What a log file is: equal for the same file only. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

export function identityOf({ dev, ino }: BigIntStats): FileIdentity {
  return { dev: Number(dev), ino: Number(ino) };
}

export function isSameFile(a: FileIdentity, b: FileIdentity): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * What an operation on a session's log threw, as a typed error: SessionGoneError where nothing has the log's name any more.
 * @param what could not be done, where the log is there
 */
export function toLogError(error: unknown, what: string, path: string, sessionId: string): HoldfastError {
  if (isGone(error, path)) return new SessionGoneError(sessionId, path);
  return toStorageError(error, what, { path, sessionId });
}

/** A link that leads nowhere was not deleted. */
function isGone(error: unknown, path: string): boolean {
  if (errorCode(error) !== "ENOENT") return false;
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false; // there is no telling
  }
}

/** A log file that is open for reading, up to a size that was fixed when it was opened. */
export class LogFile implements Disposable, LogLocation {
  readonly path: string;
  readonly encoding: Encoding;
  readonly identity: FileIdentity;
  /** Bytes that count; the file may be longer. */
  readonly size: number;
  readonly revision: Revision;
  /** When it was made, in epoch nanoseconds; 0 where the file system does not know. */
  readonly bornAt: bigint;
  /** When it was last written, in epoch milliseconds. */
  readonly modifiedAt: number;
  readonly #file: number;

  /** @throws a system error when the file is not there; StorageFailedError when it is no regular file */
  constructor({ path, encoding }: LogLocation, limit = Number.POSITIVE_INFINITY) {
    this.path = path;
    this.encoding = encoding;
    // A pipe is looked at, not waited for.
    this.#file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = fstatSync(this.#file, { bigint: true });
    if (!stat.isFile()) {
      closeSync(this.#file);
      throw new StorageFailedError("The log is not a regular file", {
        place: { path },
        hint: "Move it away; a session's log is a file.",
      });
    }
    this.identity = identityOf(stat);
    this.size = Math.min(Number(stat.size), limit);
    this.revision = revisionUpTo(stat, limit);
    this.bornAt = stat.birthtimeNs;
    this.modifiedAt = Number(stat.mtimeMs);
  }

  /** The bytes from `offset` on, at most `length`; fewer at the end. */
  read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - offset)));
    let filled = 0;
    try {
      while (filled < bytes.length) {
        const count = readSync(this.#file, bytes, filled, bytes.length - filled, offset + filled);
        if (count === 0) {
          throw new StorageFailedError("The log became shorter while it was read", {
            place: { path: this.path, offset: offset + filled },
            hint: "Another program writes to it. Stop that one, and read the session again.",
          });
        }
        filled += count;
      }
    } catch (error) {
      throw toStorageError(error, "The log could not be read", { path: this.path, offset });
    }
    return bytes;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}
