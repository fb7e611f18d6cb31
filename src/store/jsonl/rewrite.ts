import { existsSync, lstatSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SessionRecord } from "../../session/records.ts";
import { errorCode, StorageFailedError, toStorageError } from "../errors.ts";
import { type FileSystem, writeAll } from "../file-system.ts";
import { type QuarantineHead, QuarantineWriter } from "../quarantine.ts";
import { breathe } from "./breathe.ts";
import type { LogCut } from "./cut.ts";
import { draftName } from "./layout.ts";
import { encodeLines } from "./line-encoder.ts";
import { LogFile, type LogLocation } from "./log-file.ts";
import { type RestPiece, restOf, setPieceAside } from "./rest.ts";

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

export interface RepairNames {
  readonly backup: string;
  readonly quarantine: string;
}

/**
 * The names of what a repair leaves: the first number that is free. One whose backup is the log itself was left by a
 * repair that was killed, and is used again.
 */
export function repairNames(path: string): RepairNames {
  for (let n = 1; ; n += 1) {
    const names = { backup: `${path}.backup-${n}`, quarantine: `${path}.quarantine-${n}` };
    if (isThere(names.backup) ? isCopy(path, names.backup) : !isThere(names.quarantine)) return names;
  }
}

/** Carries out a repair. Durable when it resolves; when it throws before that, the old log is there whole. */
export async function rewriteLog(
  file: LogFile,
  sessionId: string,
  rewrite: Rewrite,
  system: FileSystem,
  onProgress: (share: number) => void = () => {},
): Promise<void> {
  const { path } = file;
  const folder = dirname(path);
  const names = repairNames(path);
  const draft = join(folder, draftName(crypto.randomUUID()));
  const aside = join(folder, draftName(crypto.randomUUID()));
  const made = new Set<string>();
  try {
    made.add(draft);
    await writeDraft(file, draft, rewrite, system, (share) => onProgress(share / 2));
    made.add(aside);
    await writeQuarantine(file, aside, headOf(sessionId, path, rewrite), rewrite, system, (share) =>
      onProgress(0.5 + share / 2),
    );
    assertUnchanged(file);
    if (!isThere(names.backup)) {
      backUp(path, names.backup, folder, made, system);
      made.add(names.backup);
      // Were the quarantine file's name to outlast a power cut alone, it would look like one whose backup was removed.
      system.syncFolder(folder);
    }
    const isLeftOver = isThere(names.quarantine);
    system.rename(aside, names.quarantine);
    made.delete(aside);
    if (!isLeftOver) made.add(names.quarantine);
    system.syncFolder(folder);
    system.rename(draft, path);
    // From here on the new log is the log, and what was made beside it belongs to it.
    made.clear();
    system.syncFolder(folder);
  } catch (error) {
    discard(made, system);
    throw toStorageError(error, "The log could not be repaired", { path, sessionId });
  }
}

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
  system: FileSystem,
  onProgress: (share: number) => void,
): Promise<void> {
  using writer = new QuarantineWriter(path, head, system);
  for (const piece of headerPieces) setPieceAside(writer, file, piece);
  let breather = cut.rest.offset;
  for (const piece of restOf(file, cut.rest)) {
    setPieceAside(writer, file, piece);
    if (piece.offset < breather) continue;
    breather = piece.offset + WINDOW;
    onProgress((piece.offset - cut.rest.offset) / (file.size - cut.rest.offset));
    await breathe();
  }
  writer.finish();
}

/** Gives the old log a second name; where there are none, copies it. */
function backUp(path: string, backup: string, folder: string, made: Set<string>, system: FileSystem): void {
  try {
    system.link(path, backup);
    return;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined || !NO_LINKS.has(code)) throw error;
  }
  // Under a name that does not count until it is whole.
  const draft = join(folder, draftName(crypto.randomUUID()));
  made.add(draft);
  const out = system.create(draft);
  try {
    using file = new LogFile({ path, encoding: "none" });
    for (let at = 0; at < file.size; at += WINDOW) writeAll(system, out, file.read(at, WINDOW), draft);
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

/** @throws StorageFailedError where the log is another one than was read */
function assertUnchanged(file: LogFile): void {
  using now = new LogFile(file);
  if (now.revision === file.revision) return;
  throw new StorageFailedError("The log changed while it was repaired", {
    place: { path: file.path },
    hint: "Another program writes to it. Stop that one, and repair the session again.",
  });
}

/** Whether a file holds what the log holds: its other name, or a copy of it. */
function isCopy(path: string, other: string): boolean {
  try {
    const [a, b] = [statSync(path), statSync(other)];
    if (a.dev === b.dev && a.ino === b.ino) return true;
    return a.size === b.size && b.isFile() && isSameContent(path, other);
  } catch {
    return false;
  }
}

function isSameContent(path: string, other: string): boolean {
  const [a, b]: LogLocation[] = [
    { path, encoding: "none" },
    { path: other, encoding: "none" },
  ];
  if (a === undefined || b === undefined) return false;
  using first = new LogFile(a);
  using second = new LogFile(b);
  for (let at = 0; at < first.size; at += WINDOW) {
    if (!first.read(at, WINDOW).equals(second.read(at, WINDOW))) return false;
  }
  return true;
}

/** Whether anything has this name, also a link that leads nowhere. */
function isThere(path: string): boolean {
  return existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function textsOf(records: readonly SessionRecord[]): string[] {
  return records.map(({ text }) => text);
}
