import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { LogDigest } from "../digest.ts";
import { CorruptError, StorageFailedError } from "../errors.ts";
import { closeFile, type FileSystem, writeAll } from "../file-system.ts";
import { type NewLog, type Pass, stepsOf, Unreadable } from "./compact-source.ts";
import { readHead } from "./head.ts";
import { INDEX_SUFFIX } from "./layout.ts";
import { LogFile } from "./log-file.ts";
import { compactionDraft, realLog } from "./repair-names.ts";
import { sweep } from "./sweep.ts";

/** The new log under a name that does not count. */
export class Draft {
  readonly path: string;
  readonly #file: LogFile;
  /** Where a link in the place of the log leads to, so that the link stays one. */
  readonly #log: string;
  readonly #system: FileSystem;
  #isMade = false;

  constructor(file: LogFile, system: FileSystem) {
    this.#file = file;
    this.#log = realLog(file.path);
    this.path = compactionDraft(this.#log);
    this.#system = system;
  }

  /** Returns its size. */
  async write(log: NewLog, pass: Pass): Promise<number> {
    const system = this.#system;
    // Beside a log that a link leads to nobody else removes what was left by a process that was killed.
    rmSync(this.path, { force: true });
    let size = 0;
    const out = system.create(this.path);
    this.#isMade = true;
    try {
      for await (const piece of log.pieces(pass)) {
        writeAll(system, out, piece, this.path);
        size += piece.length;
      }
      system.adopt(this.path, statSync(this.#log));
      system.fsync(out);
    } finally {
      closeFile(system, out);
    }
    return size;
  }

  publish(): void {
    using now = new LogFile(this.#file);
    if (now.revision !== this.#file.revision) {
      throw new StorageFailedError("The log changed while it was compacted", {
        place: { path: this.#file.path },
        hint: "Another program writes to it. Stop that one, and compact the session again.",
      });
    }
    this.#system.rename(this.path, this.#log);
    this.#isMade = false;
    this.#system.syncFolder(dirname(this.#log));
    // It is of the old log, and would be found out; a new one is made by whoever needs it.
    sweep(this.#file.path + INDEX_SUFFIX);
  }

  /** A draft that stays is swept when the root is next opened for writing. */
  discard(): void {
    if (!this.#isMade) return;
    this.#isMade = false;
    try {
      this.#system.remove(this.path);
    } catch {
      // What went wrong before counts.
    }
  }
}

/** @throws StorageFailedError where what was written is something else than what was read */
export async function readBack(
  path: string,
  { encoding }: LogFile,
  id: string,
  log: NewLog,
  { signal, onProgress }: Pass,
): Promise<void> {
  const digest = new LogDigest();
  try {
    using file = new LogFile({ path, encoding });
    const { headerText, bodyOffset } = readHead(file);
    for await (const step of stepsOf(file, id, bodyOffset)) {
      signal?.throwIfAborted();
      if (step.kind === "pause") continue;
      onProgress(step.end / file.size);
      for (const { record } of step.records) digest.add(record);
    }
    const { events, digest: expected } = log.measure;
    if (headerText === log.head.headerText && digest.events === events && digest.hex() === expected) return;
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof CorruptError)) throw error;
  }
  throw new StorageFailedError("The compacted log reads back as something else", {
    place: { path, sessionId: id },
    hint: "The log was left as it was. Look at the disk and its memory, and try again.",
  });
}
