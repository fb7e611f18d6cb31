import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import type { Repair, Revision } from "../backend.ts";
import { SequenceConflictError, StorageFailedError, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem, writeAll } from "../file-system.ts";
import { QUARANTINE_INFIX } from "./layout.ts";
import type { LogLocation } from "./log-file.ts";
import { OpenLog, openForAppend } from "./open-log.ts";
import type { TornTail } from "./torn-tail.ts";

/**
 * Sets a torn tail aside and goes on behind it: its bytes are copied to a quarantine file and synced, the log is cut
 * where the tail began, and one batch is appended with the records that the tail still yielded and the repair's own.
 * When it throws, the log is as it was.
 * @param next seq that comes next where the tail begins
 */
export function repairTail(
  location: LogLocation,
  sessionId: string,
  tail: TornTail,
  next: number,
  { expectedSeq, records }: Repair,
  system: FileSystem,
): { readonly log: OpenLog; readonly revision: Revision | undefined } {
  const { path } = location;
  const all = [...tail.recovered, ...records];
  const after = tail.recovered.reduce((seq, { count }) => seq + count, next);
  if (after !== expectedSeq) throw new SequenceConflictError(sessionId, expectedSeq, after);
  const bytes = readTail(path, tail);
  const file = openForAppend(path, system);
  let quarantine: string | undefined;
  try {
    quarantine = setAside(path, tail.offset, bytes, system);
    system.truncate(file, tail.offset);
    system.fsync(file);
    const log = new OpenLog(location, file, { size: tail.offset, next }, system);
    return { log, revision: all.length === 0 ? undefined : log.append(all) };
  } catch (error) {
    try {
      if (fstatSync(file).size !== tail.size) putBack(file, tail.offset, bytes, path, quarantine, system);
      // The log is as it was: nothing needs the copy.
      if (quarantine !== undefined) discard(quarantine, system);
    } finally {
      closeFile(system, file);
    }
    throw toStorageError(error, "The torn tail could not be repaired", { path, offset: tail.offset });
  }
}

function readTail(path: string, { offset, size }: TornTail): Buffer {
  const bytes = Buffer.allocUnsafe(size - offset);
  const file = openSync(path, "r");
  try {
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(file, bytes, filled, bytes.length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    if (filled === bytes.length) return bytes;
  } finally {
    closeSync(file);
  }
  throw new StorageFailedError("The log became shorter while it was repaired", { place: { path } });
}

/** A durable copy of the tail in a file of its own. */
function setAside(path: string, offset: number, bytes: Buffer, system: FileSystem): string {
  const base = `${path}${QUARANTINE_INFIX}${offset}`;
  let quarantine = base;
  for (let n = 2; existsSync(quarantine); n += 1) quarantine = `${base}-${n}`;
  try {
    const file = system.create(quarantine);
    try {
      writeAll(system, file, bytes, quarantine);
      system.fsync(file);
    } finally {
      closeFile(system, file);
    }
    system.syncFolder(dirname(path));
    return quarantine;
  } catch (error) {
    discard(quarantine, system);
    throw toStorageError(error, "The torn tail could not be set aside", { path: quarantine });
  }
}

/** Half a copy would look like one. */
function discard(quarantine: string, system: FileSystem): void {
  try {
    system.remove(quarantine);
  } catch {
    // It was never made, or what went wrong before counts.
  }
}

/** The log as it was before the repair. What cannot be put back lies in the quarantine file. */
function putBack(
  file: number,
  offset: number,
  bytes: Buffer,
  path: string,
  quarantine: string | undefined,
  system: FileSystem,
): void {
  try {
    // A part of the batch may be left.
    system.truncate(file, offset);
    writeAll(system, file, bytes, path);
    system.fsync(file);
  } catch (cause) {
    throw new StorageFailedError("The torn tail was cut off, but the repair could not be saved", {
      place: { path },
      hint: `Free some space and open the session again. What was cut off lies in ${quarantine}.`,
      cause,
    });
  }
}
