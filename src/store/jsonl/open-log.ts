import { type BigIntStats, fstatSync, statSync } from "node:fs";
import type { SessionRecord } from "../../session/records.ts";
import type { Revision } from "../backend.ts";
import { StorageFailedError, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem, writeAll } from "../file-system.ts";
import type { Encoding } from "./layout.ts";
import { encodeLines } from "./line-encoder.ts";
import { type FileIdentity, identityOf, isSameFile, type LogLocation } from "./log-file.ts";
import { formatRevision } from "./revision.ts";

/** Where a log ends. */
export interface LogEnd {
  /** Bytes. */
  readonly size: number;
  /** Seq that comes next. */
  readonly next: number;
}

/** Opens a log for appending; the caller closes the descriptor. @throws StorageFailedError */
export function openForAppend(path: string, system: FileSystem): number {
  try {
    return system.open(path);
  } catch (error) {
    throw toStorageError(error, "The log could not be opened for writing", { path });
  }
}

/** A log that is open for appending. What it holds is durable; what could not be made durable is cut off again. */
export class OpenLog implements Disposable {
  readonly path: string;
  readonly encoding: Encoding;
  readonly #system: FileSystem;
  readonly #file: number;
  readonly #identity: FileIdentity;
  #end: LogEnd;
  #broken: StorageFailedError | undefined;

  /** Takes over `file`, which is open for appending and ends at `end`. */
  constructor({ path, encoding }: LogLocation, file: number, end: LogEnd, system: FileSystem) {
    this.path = path;
    this.encoding = encoding;
    this.#system = system;
    this.#file = file;
    this.#identity = identityOf(fstatSync(file, { bigint: true }));
    this.#end = end;
  }

  get end(): LogEnd {
    return this.#end;
  }

  get revision(): Revision {
    return formatRevision(fstatSync(this.#file, { bigint: true }));
  }

  /** Why the log takes no more appends until it is opened anew: it could not be cut back to what is durable. */
  get broken(): StorageFailedError | undefined {
    return this.#broken;
  }

  /** Whether the file is as this left it; others may have written to it meanwhile. @throws when it is not in its place */
  isCurrent(): boolean {
    return this.#broken === undefined && Number(this.#statInPlace().size) === this.#end.size;
  }

  /** Appends one batch. Durable when it returns; when it throws the log ends where it ended. */
  append(records: readonly SessionRecord[]): Revision {
    if (this.#broken !== undefined) throw this.#broken;
    const texts = records.map(({ text }) => text);
    const bytes = encodeLines(texts, this.encoding, this.path);
    try {
      writeAll(this.#system, this.#file, bytes, this.path);
      this.#system.fdatasync(this.#file);
    } catch (error) {
      this.#cutBack(bytes.length);
      throw toStorageError(error, "The append could not be saved", { path: this.path });
    }
    const stat = fstatSync(this.#file, { bigint: true });
    if (Number(stat.size) !== this.#end.size + bytes.length) throw this.#meddled();
    const last = records.at(-1);
    const next = last === undefined ? this.#end.next : last.seq + last.count;
    this.#end = { size: Number(stat.size), next };
    return formatRevision(stat);
  }

  [Symbol.dispose](): void {
    closeFile(this.#system, this.#file);
  }

  #cutBack(most: number): void {
    try {
      const { size } = fstatSync(this.#file);
      if (size === this.#end.size) return;
      // Somebody else wrote as well, or cut the log: theirs is not cut off, and nothing is filled up with zeros.
      if (size < this.#end.size || size > this.#end.size + most) {
        this.#meddled();
        return;
      }
      this.#system.truncate(this.#file, this.#end.size);
      this.#system.fsync(this.#file);
    } catch (cause) {
      this.#broken = new StorageFailedError("The log could not be cut back after a failed append", {
        place: { path: this.path },
        hint: "Restart once the disk works again; what was acknowledged is safe.",
        cause,
      });
    }
  }

  #meddled(): StorageFailedError {
    this.#broken = new StorageFailedError("Another program wrote to the log at the same time", {
      place: { path: this.path },
      hint: "Stop it: a log has one writer. Then look at the session with `holdfast sessions list --check`.",
    });
    return this.#broken;
  }

  #statInPlace(): BigIntStats {
    const stat = statOf(this.path);
    if (stat !== undefined && isSameFile(identityOf(stat), this.#identity)) return stat;
    const what = stat === undefined ? "is gone" : "was replaced by another file";
    throw new StorageFailedError(`The log of the session ${what}`, {
      place: { path: this.path },
      hint: "Put the original file back, or restart to use what is there now.",
    });
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw toStorageError(error, "The log could not be looked at", { path });
  }
}
