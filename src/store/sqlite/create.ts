import { Database } from "bun:sqlite";
import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { CorruptError, StorageFailedError, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem, SYSTEM } from "../file-system.ts";
import { syncIfAllowed } from "../paths.ts";
import { sizeOf } from "./identity.ts";
import { createSchema } from "./schema.ts";
import checkpoint from "./sql/checkpoint.sql" with { type: "text" };
import setJournalMode from "./sql/set-journal-mode.sql" with { type: "text" };
import setSynchronousOff from "./sql/set-synchronous-off.sql" with { type: "text" };

/**
 * Makes a new store at `path`: complete under another name first, then put in place in one step, so that no crash
 * leaves half a store. Without `replace` a file that appeared meanwhile is left alone. The caller holds the lock.
 */
export function createStore(
  path: string,
  { replace, system = SYSTEM }: { readonly replace: boolean; readonly system?: FileSystem },
): void {
  assertNoOrphan(path);
  const draft = `${path}.creating`;
  try {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${draft}${suffix}`, { force: true });
    // SQLite would make the file readable for everyone.
    closeFile(system, system.create(draft));
    fill(draft);
    assertWhole(draft);
    sync(draft, system);
    if (replace) system.rename(draft, path);
    else {
      system.link(draft, path);
      system.remove(draft);
    }
    system.syncFolder(dirname(path));
  } catch (error) {
    discard(draft);
    throw toStorageError(error, "The store could not be made", { path });
  }
}

/**
 * Makes a store durable as it was found: a process that was killed between a write and its sync left commits that can be
 * read and may not be on the disk yet. No connection of this process may have it open.
 */
export function settleStore(path: string, system: FileSystem = SYSTEM): void {
  const log = `${path}-wal`;
  try {
    if (sizeOf(log) > 0) sync(log, system);
    syncIfAllowed(dirname(path), system);
  } catch (error) {
    throw toStorageError(error, "The store could not be made durable", { path });
  }
}

/** Removes what a crash between the two names of a new store left: the draft, if it is the store itself. */
export function sweepDraft(path: string): void {
  const draft = `${path}.creating`;
  try {
    const [store, left] = [path, draft].map((name) => statSync(name, { throwIfNoEntry: false }));
    if (store !== undefined && left?.ino === store.ino && left.dev === store.dev) rmSync(draft);
  } catch (error) {
    throw toStorageError(error, "A draft of the store could not be removed", { path: draft });
  }
}

function discard(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // What went wrong before counts. Whoever makes the store begins with removing it.
  }
}

/** What is left of a store of which the database itself is gone, or empty. Nothing was changed. */
export class JournalAloneError extends CorruptError {
  constructor(journal: string, size: number) {
    super("A journal lies here without its database", {
      expected: "no journal where there is no store",
      found: `${size} bytes`,
      place: { path: journal },
      hint: "Put the database file back beside it. Without it `holdfast sessions salvage` takes what the journal alone holds; moved away, the journal leaves room for an empty store.",
    });
  }
}

/**
 * SQLite would play a journal that lies beside a new database into it, whatever database it came from.
 * @throws JournalAloneError
 */
export function assertNoOrphan(path: string): void {
  for (const journal of [`${path}-wal`, `${path}-journal`]) {
    const size = sizeOf(journal);
    if (size > 0) throw new JournalAloneError(journal, size);
  }
}

function fill(path: string): void {
  using database = new Database(path, { readwrite: true, create: false, strict: true });
  // Nothing to protect yet: the finished file is synced as a whole before it gets its name.
  database.run(setSynchronousOff);
  database.run(setJournalMode);
  createSchema(database);
  // Closing would write the log back as well, but says nothing when it fails, and leaves the log.
  database.run(checkpoint);
}

/** What is in a log beside the draft would not come along. */
function assertWhole(path: string): void {
  if (sizeOf(`${path}-wal`) === 0) return;
  throw new StorageFailedError("The new store could not be written as a whole", { place: { path } });
}

function sync(path: string, system: FileSystem): void {
  const file = system.open(path);
  try {
    system.fsync(file);
  } finally {
    closeFile(system, file);
  }
}
