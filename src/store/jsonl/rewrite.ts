import { lstatSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { SessionRecord } from "../../session/records.ts";
import { Breather, breathe } from "../breathe.ts";
import { errorCode, StorageFailedError } from "../errors.ts";
import { type FileOwner, type FileSystem, SYSTEM, writeAll } from "../file-system.ts";
import { type QuarantineHead, QuarantineWriter } from "../quarantine.ts";
import type { LogCut } from "./cut.ts";
import { encodeLines } from "./line-encoder.ts";
import { LogFile, toLogError } from "./log-file.ts";
import { Comparison, isSameFile, isThere, type RepairNames, repairDrafts } from "./repair-names.ts";
import { type RestPiece, restOf, setPieceAside } from "./rest.ts";
import { syncFile } from "./settle.ts";

/*
 * Puts a repaired log in the place of a damaged one. Everything new is written and synced under names that do not count
 * before the old log gets its second name, and only then the new one takes its place.
 */

/** Bytes copied at once. */
const WINDOW = 1024 * 1024;
/** What file systems say that have no second names. */
const NO_LINKS = new Set(["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV", "EACCES"]);

/** What is written. */
export interface Rewrite {
  readonly cut: LogCut;
  /** The header line to be written; absent where the first frame or line stays as it is. */
  readonly headerText?: string;
  /** Offset from which bytes stay as they are: 0, or the body's where the header is written. */
  readonly from: number;
  /** What is set aside of the damaged header. */
  readonly headerPieces: readonly RestPiece[];
}

/** Carries out a repair. Durable when it resolves; when it throws before that, the old log is there whole. */
export async function rewriteLog(
  file: LogFile,
  sessionId: string,
  rewrite: Rewrite,
  names: RepairNames,
  system: FileSystem,
  onProgress: (share: number) => void = () => {},
): Promise<void> {
  const { path, backup, quarantine } = names;
  const folder = dirname(path);
  const [draft, aside, copy] = repairDrafts(path);
  const made = new Set<string>();
  try {
    const owner = statSync(path);
    made.add(draft);
    await writeDraft(file, draft, rewrite, owner, system, (share) => onProgress(share / 2));
    made.add(aside);
    const head = headOf(sessionId, path, rewrite);
    await writeQuarantine(file, aside, head, rewrite, owner, system, (share) => onProgress(0.5 + share / 2));
    assertUnchanged(file, path);
    if (isThere(backup)) {
      if (!isSameFile(backup, path)) throw taken(backup);
      // It may be a copy that somebody else made.
      syncFile(backup, system);
    } else {
      backUp(path, backup, copy, owner, made, system);
      made.add(backup);
      // Were the quarantine file's name to outlast a power cut alone, it would look like one whose backup was removed.
      system.syncFolder(folder);
    }
    if (isThere(quarantine)) {
      if (!isSameFile(quarantine, aside)) throw taken(quarantine);
      syncFile(quarantine, system);
      system.remove(aside);
    } else {
      system.rename(aside, quarantine);
      made.add(quarantine);
    }
    made.delete(aside);
    system.syncFolder(folder);
    system.rename(draft, path);
    // From here on the new log is the log, and what was made beside it belongs to it.
    made.clear();
    system.syncFolder(folder);
  } catch (error) {
    discard(made, system);
    throw toLogError(error, "The log could not be repaired", path, sessionId);
  }
}

/** Whether a quarantine file is just what a repair would write. */
export async function isQuarantineOf(
  file: LogFile,
  sessionId: string,
  rewrite: Rewrite,
  { path, quarantine }: RepairNames,
): Promise<boolean> {
  if (lstatSync(quarantine, { throwIfNoEntry: false })?.isFile() !== true) return false;
  using comparison = new Comparison(quarantine);
  const system: FileSystem = {
    ...SYSTEM,
    create: () => 0,
    write: (_, bytes) => {
      if (!comparison.take(bytes)) throw new Difference();
      return bytes.length;
    },
    adopt: () => {},
    fsync: () => {},
    close: () => {},
  };
  try {
    const head = headOf(sessionId, path, rewrite);
    await writeQuarantine(file, quarantine, head, rewrite, statSync(path), system, () => {});
    return comparison.isAtEnd();
  } catch (error) {
    if (error instanceof Difference) return false;
    throw error;
  }
}

class Difference extends Error {}

function headOf(sessionId: string, path: string, { cut }: Rewrite): QuarantineHead {
  const { reason } = cut;
  if (reason === undefined) throw new TypeError("a sound log is not repaired");
  const { offset, row, seq } = reason.place;
  const cutAt = {
    ...(offset === undefined ? {} : { offset }),
    ...(row === undefined ? {} : { row }),
    ...(seq === undefined ? {} : { seq }),
  };
  return { session: sessionId, source: basename(path), reason, cutAt };
}

async function writeDraft(
  file: LogFile,
  draft: string,
  { cut, headerText, from }: Rewrite,
  owner: FileOwner,
  system: FileSystem,
  onProgress: (share: number) => void,
): Promise<void> {
  const { path, encoding } = file;
  const out = system.create(draft);
  try {
    const write = (texts: readonly string[]) => {
      if (texts.length > 0) writeAll(system, out, encodeLines(texts, encoding, path), draft);
    };
    if (headerText !== undefined) write([headerText]);
    write(textsOf(cut.lead));
    for (let at = from; at < cut.to; at += WINDOW) {
      writeAll(system, out, file.read(at, Math.min(WINDOW, cut.to - at)), draft);
      onProgress((at - from) / (cut.to - from));
      await breathe();
    }
    write(textsOf(cut.partial));
    write(textsOf(cut.closers));
    system.adopt(draft, owner);
    system.fsync(out);
  } finally {
    system.close(out);
  }
}

async function writeQuarantine(
  file: LogFile,
  path: string,
  head: QuarantineHead,
  { cut, headerPieces }: Rewrite,
  owner: FileOwner,
  system: FileSystem,
  onProgress: (share: number) => void,
): Promise<void> {
  using writer = new QuarantineWriter(path, head, system);
  for (const piece of headerPieces) setPieceAside(writer, file, piece);
  const from = cut.rest.offset;
  const breather = new Breather();
  let at = from;
  for (const piece of restOf(file, cut.rest)) {
    if (piece.kind !== "pause") {
      setPieceAside(writer, file, piece);
      at = piece.offset;
    } else if (breather.isDue(piece.bytes)) {
      onProgress((at - from) / (file.size - from));
      await breathe();
    }
  }
  system.adopt(path, owner);
  writer.finish();
}

/** Gives the old log a second name; where there are none, copies it. */
function backUp(
  path: string,
  backup: string,
  draft: string,
  owner: FileOwner,
  made: Set<string>,
  system: FileSystem,
): void {
  try {
    system.link(path, backup);
    return;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined || !NO_LINKS.has(code)) throw error;
  }
  // Under a name that does not count until it is whole.
  made.add(draft);
  const out = system.create(draft);
  try {
    using file = new LogFile({ path, encoding: "none" });
    for (let at = 0; at < file.size; at += WINDOW) writeAll(system, out, file.read(at, WINDOW), draft);
    system.adopt(draft, owner);
    system.fsync(out);
  } finally {
    system.close(out);
  }
  system.rename(draft, backup);
  made.delete(draft);
}

/** Takes back what a failed repair made. A draft that stays is swept when the root is next opened for writing. */
function discard(paths: Iterable<string>, system: FileSystem): void {
  for (const path of paths) {
    try {
      system.remove(path);
    } catch {
      // It was never made, or what went wrong before counts.
    }
  }
}

function taken(path: string): StorageFailedError {
  return new StorageFailedError("A file has taken the name that the repair was to use", {
    place: { path },
    hint: "Move it away, and repair the session again.",
  });
}

/** @throws StorageFailedError where the log is another one than was read */
function assertUnchanged(file: LogFile, path: string): void {
  using now = new LogFile({ path, encoding: file.encoding });
  if (now.revision === file.revision) return;
  throw new StorageFailedError("The log changed while it was repaired", {
    place: { path: file.path },
    hint: "Another program writes to it. Stop that one, and repair the session again.",
  });
}

function textsOf(records: readonly SessionRecord[]): string[] {
  return records.map(({ text }) => text);
}
