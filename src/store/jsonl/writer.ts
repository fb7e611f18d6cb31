import { accessSync, constants, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { AppendBatch, AppendOutcome, Repair, Revision } from "../backend.ts";
import {
  AlreadyExistsError,
  ClosedError,
  NotFoundError,
  SequenceConflictError,
  StorageFailedError,
  toStorageError,
} from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import type { BackendWriter } from "../writer.ts";
import { findLog } from "./directory.ts";
import { type Encoding, INDEX_SUFFIX } from "./layout.ts";
import { findEnd } from "./log-end.ts";
import type { LogLocation } from "./log-file.ts";
import { materialise, removeEmptyFolders } from "./materialise.ts";
import { OpenLog, openForAppend } from "./open-log.ts";
import { repairTail } from "./repair.ts";
import { settleLog } from "./settle.ts";
import { parseTornTail } from "./torn-tail.ts";

/** Logs that are kept open between appends. */
const MAX_OPEN = 128;

/** The writing side of a session root: one file a session, a sync with every batch. The caller holds the lock. */
export class JsonlWriter implements BackendWriter {
  readonly #root: string;
  readonly #encoding: Encoding;
  readonly #system: FileSystem;
  readonly #logs = new Map<string, OpenLog>();
  /** Sessions of which nothing hangs on a process that was killed. */
  readonly #settled = new Set<string>();
  /** Logs of failed attempts to make a session that could not be taken back. */
  readonly #unwanted = new Map<string, FoundLog>();
  #closed = false;

  /** @param encoding of logs that are made; a log that is there keeps its own */
  constructor(root: string, encoding: Encoding, system: FileSystem = SYSTEM) {
    this.#root = root;
    this.#encoding = encoding;
    this.#system = system;
  }

  appendBatch(batches: readonly AppendBatch[]): readonly AppendOutcome[] {
    this.#assertOpen();
    return batches.map((batch) => {
      try {
        return { ok: true, revision: this.#append(batch) };
      } catch (error) {
        return {
          ok: false,
          error: toStorageError(error, "The append could not be saved", { path: this.#root }),
        };
      }
    });
  }

  commitRepair(id: string, repair: Repair): Revision {
    this.#assertOpen();
    const torn = parseTornTail(repair.torn);
    if (torn === undefined) return this.#append({ id, ...repair });
    const location = this.#locate(id);
    this.#forget(id);
    if (statSync(location.path).size !== torn.size) {
      throw new StorageFailedError("The log changed after it was read", {
        place: { path: location.path, sessionId: id },
        hint: "Another program writes to it. Stop that one, and open the session again.",
      });
    }
    const { next } = findEnd(location, id, torn.offset);
    const { log, revision } = repairTail(location, id, torn, next, repair, this.#system);
    this.#keep(id, log);
    return revision ?? log.revision;
  }

  delete(id: string): boolean {
    this.#assertOpen();
    const log = findLog(this.#root, id);
    if (log === undefined) return false;
    this.#forget(id);
    const folder = dirname(log.path);
    try {
      this.#system.remove(log.path);
      rmSync(log.path + INDEX_SUFFIX, { force: true });
      this.#system.syncFolder(folder);
    } catch (error) {
      throw toStorageError(error, "The session could not be deleted", { path: log.path, sessionId: id });
    }
    removeEmptyFolders(folder, this.#system);
    return true;
  }

  settle(id: string): void {
    this.#assertOpen();
    const log = findLog(this.#root, id);
    if (log !== undefined) this.#settle(id, log.path);
  }

  checkWritable(): void {
    this.#assertOpen();
    try {
      if (!statSync(this.#root).isDirectory()) throw new StorageFailedError("The session root is no folder");
      accessSync(this.#root, constants.W_OK);
    } catch (error) {
      throw toStorageError(error, "The session root cannot be written", { path: this.#root });
    }
    for (const log of this.#logs.values()) {
      if (log.broken !== undefined) throw log.broken;
      if (!log.isCurrent()) throw changed(log.path);
    }
  }

  close(): void {
    this.#closed = true;
    for (const log of this.#logs.values()) log[Symbol.dispose]();
    this.#logs.clear();
  }

  #append({ id, header, expectedSeq, records }: AppendBatch): Revision {
    if (header !== undefined) return this.#create(id, header, expectedSeq, records);
    const log = this.#open(id);
    if (log.end.next !== expectedSeq) throw new SequenceConflictError(id, expectedSeq, log.end.next);
    return log.append(records);
  }

  #create(id: string, headerText: string, expectedSeq: number, records: AppendBatch["records"]): Revision {
    this.#takeBack(id);
    if (findLog(this.#root, id) !== undefined) throw new AlreadyExistsError(id);
    if (expectedSeq !== 0) throw new SequenceConflictError(id, expectedSeq, 0);
    const made = { id, headerText, encoding: this.#encoding, records };
    try {
      const { log, revision } = materialise(this.#root, made, this.#system);
      this.#settled.add(id);
      this.#keep(id, log);
      return revision;
    } catch (error) {
      // It was published, then something failed, and it could not be taken back.
      const left = error instanceof AlreadyExistsError ? undefined : tryFind(this.#root, id);
      if (left !== undefined) this.#unwanted.set(id, left);
      throw error;
    }
  }

  /** Removes what a failed attempt to make the session left. Nobody was told of it. */
  #takeBack(id: string): void {
    const left = this.#unwanted.get(id);
    if (left === undefined) return;
    const found = tryFind(this.#root, id);
    if (found?.path === left.path && found.ino === left.ino) this.#system.remove(left.path);
    this.#unwanted.delete(id);
  }

  /** The log of a session, open for appending and as it was left. */
  #open(id: string): OpenLog {
    const known = this.#logs.get(id);
    if (known !== undefined) {
      if (known.broken !== undefined) throw known.broken;
      if (known.isCurrent()) return known;
      this.#forget(id);
    }
    const location = this.#locate(id);
    const end = findEnd(location, id);
    const log = new OpenLog(location, openForAppend(location.path, this.#system), end, this.#system);
    this.#keep(id, log);
    return log;
  }

  #locate(id: string): LogLocation {
    const log = findLog(this.#root, id);
    if (log === undefined) throw new NotFoundError(id, this.#root);
    this.#settle(id, log.path);
    return log;
  }

  #settle(id: string, path: string): void {
    if (this.#settled.has(id)) return;
    settleLog(path, this.#root, this.#system);
    this.#settled.add(id);
  }

  #keep(id: string, log: OpenLog): void {
    for (const [oldest, { broken }] of this.#logs) {
      if (this.#logs.size < MAX_OPEN) break;
      // A broken one must be remembered as broken.
      if (broken === undefined) this.#forget(oldest);
    }
    this.#logs.set(id, log);
  }

  #forget(id: string): void {
    this.#logs.get(id)?.[Symbol.dispose]();
    this.#logs.delete(id);
  }

  #assertOpen(): void {
    if (this.#closed) throw new ClosedError();
  }
}

interface FoundLog {
  readonly path: string;
  readonly ino: number;
}

function tryFind(root: string, id: string): FoundLog | undefined {
  try {
    const path = findLog(root, id)?.path;
    return path === undefined ? undefined : { path, ino: statSync(path).ino };
  } catch {
    return undefined; // what went wrong before counts
  }
}

function changed(path: string): StorageFailedError {
  return new StorageFailedError("Another program changed the log of an open session", {
    place: { path },
    hint: "Stop it, and open the session again.",
  });
}
