import { lstatSync, rmSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { type Measure, measure } from "./copy.ts";
import { CorruptError, errorCode, HoldfastError, NotFoundError, toStorageError } from "./errors.ts";
import { type FileSystem, SYSTEM } from "./file-system.ts";
import { openStoreReadOnly } from "./open-store.ts";
import { makeDirectory, resolveStorePath } from "./paths.ts";
import type { Cancellable, SessionPersistence } from "./persistence.ts";
import type { StoreName } from "./store-name.ts";

const PAGE = 1_000;
/** What SQLite would take for a part of the backup. */
const SQLITE_FILES = ["", "-wal", "-shm", "-journal"];

/** Something has the name that a backup shall get. Nothing was written. */
class BackupExistsError extends HoldfastError {
  readonly code = "already-exists";

  constructor(path: string) {
    super("Something lies where the backup shall be", {
      place: { path },
      hint: "Choose another name. A backup never overwrites anything.",
    });
  }
}

/** A backup that would lie within the store. Nothing was written. */
class BackupPlaceError extends HoldfastError {
  readonly code = "usage";

  constructor(path: string) {
    super("The backup would lie inside of the store", {
      place: { path },
      hint: "Choose a place beside it, better still on another disk.",
    });
  }
}

export interface BackupOptions extends Cancellable {
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Told what is done now, how much of it is done, and how much there is, if that is known. */
  readonly onProgress?: (phase: "copying" | "checking", done: number, total?: number) => void;
  readonly system?: FileSystem;
}

/** A session that the backup does not hold in good order. */
export interface BackupFault {
  readonly id: string;
  /**
   * `damaged`: the backup holds it as the store does, and it cannot be read whole in either. `missing`: it could not be
   * copied.
   */
  readonly state: "damaged" | "missing";
  readonly error: HoldfastError;
}

/** What a backup holds. */
export interface BackupReport {
  /** One for each session of the backup, those with a fault too. */
  readonly sessions: number;
  /** Events of those that can be read. */
  readonly events: number;
  readonly faults: readonly BackupFault[];
}

/**
 * Writes a backup of a store that may be in use: a database as one file, a session root as a folder of logs. It holds
 * every event that was durable before the call. It is written under another name, read back and compared with the
 * store, session by session, made durable, and only then named. Takes no lock and keeps no writer waiting.
 * @throws BackupExistsError, BackupPlaceError, StoreNotFoundError, CorruptError, StorageFailedError, StorageFullError,
 *   the reason of `signal`; nothing is left then
 */
export async function backupStore(
  from: StoreName,
  to: string,
  options: BackupOptions,
): Promise<BackupReport> {
  const target = resolve(to);
  const system = options.system ?? SYSTEM;
  assertFree(from, target);
  // Where there is no store, no folder is made for its backup. Not left open: a second way to the files of a database
  // would drop the locks of this one.
  await (await openStoreReadOnly(from, options)).close();
  // Not made of the whole name, which may be as long as a name can be.
  const draft = join(
    dirname(target),
    `${basename(target).slice(0, 40)}.holdfast-draft-${crypto.randomUUID()}`,
  );
  try {
    makeDirectory(dirname(target), system);
    options.onProgress?.("copying", 0);
    const missing = await writeCopy(from, draft, system, options);
    const checked = await compare(from, { kind: from.kind, path: draft }, options);
    options.signal?.throwIfAborted();
    assertFree(from, target);
    giveName(draft, target, from.kind, system);
    system.syncFolder(dirname(target));
    return { ...checked, faults: [...missing, ...checked.faults] };
  } catch (error) {
    if (error === options.signal?.reason) throw error;
    throw toStorageError(error, "The backup could not be written", { path: target });
  } finally {
    // SQLite leaves a journal where it could not end a write.
    for (const suffix of from.kind === "sqlite" ? SQLITE_FILES : [""]) drop(draft + suffix);
  }
}

function drop(draft: string): void {
  try {
    rmSync(draft, { recursive: true, force: true });
  } catch {
    // What went wrong before counts. It is a draft by its name, and nobody reads it.
  }
}

function assertFree({ kind, path }: StoreName, target: string): void {
  for (const suffix of kind === "sqlite" ? SQLITE_FILES : [""]) {
    if (isThere(target + suffix)) throw new BackupExistsError(target + suffix);
  }
  if (kind === "sqlite") return;
  const inside = relative(resolveStorePath(path), resolveStorePath(target));
  if (inside !== ".." && !inside.startsWith(`..${sep}`)) throw new BackupPlaceError(target);
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw toStorageError(error, "The backup cannot be put there", { path });
  }
}

async function writeCopy(
  { kind, path }: StoreName,
  draft: string,
  system: FileSystem,
  { signal, onProgress }: BackupOptions,
): Promise<BackupFault[]> {
  if (kind === "sqlite") {
    const { writeCopy } = await import("./sqlite/write-copy.ts");
    writeCopy(resolveStorePath(path), draft, system);
    return [];
  }
  const { writeCopy } = await import("./jsonl/write-copy.ts");
  const failed = await writeCopy(resolveStorePath(path), draft, {
    system,
    ...(signal === undefined ? {} : { signal }),
    onProgress: (done, total) => onProgress?.("copying", done, total),
  });
  return failed.map(({ id, error }) => ({ id, state: "missing", error }));
}

/** Reads the backup to its end, and of the store as much as the backup holds. */
async function compare(
  from: StoreName,
  backup: StoreName,
  { signal, onProgress, clock }: BackupOptions,
): Promise<BackupReport> {
  await using source = await openStoreReadOnly(from, { clock });
  await using copy = await openStoreReadOnly(backup, { clock });
  const ids = await idsOf(copy);
  const faults: BackupFault[] = [];
  let events = 0;
  for (const [done, id] of ids.entries()) {
    signal?.throwIfAborted();
    onProgress?.("checking", done, ids.length);
    const copied = await measured(copy, id, 0);
    if (copied instanceof HoldfastError) {
      const original = await measured(source, id, 0);
      if (!(original instanceof HoldfastError)) throw differs(id, copied.message);
      faults.push({ id, state: "damaged", error: original });
      continue;
    }
    const original = await measured(source, id, copied.events);
    events += copied.events;
    // Deleted from the store since it was copied.
    if (original instanceof NotFoundError) continue;
    if (original instanceof HoldfastError) throw original;
    if (original.prefix !== copied.digest) throw differs(id, `digest ${copied.digest}`);
  }
  return { sessions: ids.length, events, faults };
}

function differs(sessionId: string, found: string): CorruptError {
  return new CorruptError("The backup reads back as something else than the store", {
    expected: "the same events",
    found,
    place: { sessionId },
    hint: "Nothing was kept of it. Look at the disk and its memory, and try again.",
  });
}

async function measured(
  store: SessionPersistence,
  id: string,
  prefix: number,
): Promise<Measure | HoldfastError> {
  try {
    return await measure(await store.stream(id), prefix);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

/** Each id once, also where several files have it. */
async function idsOf(store: SessionPersistence): Promise<string[]> {
  const ids = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { id } of page.items) ids.add(id);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return [...ids];
}

/** Gives the draft its name, which nothing else has. */
function giveName(draft: string, target: string, kind: StoreName["kind"], system: FileSystem): void {
  if (kind === "jsonl") {
    system.rename(draft, target);
    return;
  }
  try {
    system.link(draft, target);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw new BackupExistsError(target);
    // Not every file system has second names.
    system.rename(draft, target);
  }
}
