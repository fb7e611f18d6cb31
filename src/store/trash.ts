import { existsSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { errorCode, StorageFailedError, toStorageError } from "./errors.ts";
import { type FileSystem, SYSTEM } from "./file-system.ts";
import { makeDirectory, resolveStorePath } from "./paths.ts";
import type { SessionPersistence } from "./persistence.ts";
import { isLogEmpty } from "./sqlite/files.ts";
import type { StoreName } from "./store-name.ts";

/*
 * Sessions leave a store through a trash folder beside it: `<store>.trash/<time>`, one for each command that deletes. Each
 * of these is itself a root of session logs, so that all that reads a store reads it, too. A session is in the store
 * until it is whole in the trash. Source: docs/cli.md, "holdfast sessions delete".
 */

/** Where a session went, and in what form: a session log in a root of them, or its rows in a quarantine file. */
export type Trashed =
  | {
      readonly form: "log";
      readonly path: string;
      /** Where it lay, if it was moved as it is: then a move back restores it, whatever is in it. */
      readonly from?: Place;
    }
  | {
      readonly form: "rows";
      readonly path: string;
      /** Whether there is no event among them, and so nothing for a salvage. */
      readonly isEmpty: boolean;
    };

/** A session in a root of logs: its folder, or a log without one. */
export interface Place {
  readonly path: string;
  readonly isFolder: boolean;
}

/** Takes sessions out of a store whose lock its caller holds. None of it decodes more than it must. */
export interface SessionRemover extends AsyncDisposable {
  /** Root of session logs that {@link trash} moves sessions to; made by the first one. */
  readonly folder: string;
  /** @throws NotFoundError; StorageFailedError where several files claim the id. Then it is where it was. */
  trash(id: string): Promise<Trashed>;
  /** @throws the same */
  purge(id: string): Promise<void>;
}

/** What removes sessions of a store that is open for writing: `store` is what `openStore` gave for `name`. */
export async function openRemover(
  name: StoreName,
  store: SessionPersistence,
  clock: () => number,
): Promise<SessionRemover> {
  const trash = new TrashFolder(trashOf(name), clock);
  if (name.kind === "sqlite") {
    const { SqliteRemover } = await import("./sqlite/remover.ts");
    return new SqliteRemover(resolveStorePath(name.path), store, trash, clock);
  }
  const { JsonlRemover } = await import("./jsonl/remover.ts");
  return new JsonlRemover(resolveStorePath(name.path), trash);
}

/** Folder of all that was ever deleted from a store. It need not exist. */
export function trashOf({ path }: StoreName): string {
  return `${resolveStorePath(path)}.trash`;
}

/**
 * Whether nothing of what was deleted is left in the files of a store that has been closed just now: a database writes its
 * log back then and empties it, unless another program reads what is in it. Nothing of a root, where files are unlinked.
 */
export function isAllOverwritten(name: StoreName): boolean | undefined {
  return name.kind === "sqlite" ? isLogEmpty(name.path) : undefined;
}

/** The folder of one command in the trash. */
export class TrashFolder {
  /** Root that sessions are moved to. */
  readonly path: string;
  /** Root that what is not whole yet lies in; of no use once the lock is free. */
  readonly draft: string;
  readonly #system: FileSystem;

  constructor(trash: string, clock: () => number, system: FileSystem = SYSTEM) {
    const time = new Date(clock()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
    let path = join(trash, time);
    for (let n = 2; existsSync(path); n += 1) path = join(trash, `${time}-${n}`);
    this.path = path;
    this.draft = join(trash, ".holdfast-draft");
    this.#system = system;
  }

  make(): void {
    makeDirectory(this.path, this.#system);
  }

  /**
   * Moves a file or folder of a root into the same place of this one, durably.
   * @returns where it is then
   */
  take(path: string, root: string): string {
    const to = join(this.path, relative(root, path));
    makeDirectory(dirname(to), this.#system);
    try {
      this.#system.rename(path, to);
      this.#system.syncFolder(dirname(to));
      this.#system.syncFolder(dirname(path));
    } catch (error) {
      throw errorCode(error) === "EXDEV"
        ? new StorageFailedError("The trash folder lies on another file system", {
            place: { path: this.path },
            hint: "Copy what is still needed with `holdfast sessions copy`, and delete with --purge.",
          })
        : toStorageError(error, "The session could not be moved to the trash", { path });
    }
    return to;
  }

  /** Removes what a command that was killed left. The caller holds the lock of the store. */
  dropDraft(): void {
    try {
      rmSync(this.draft, { recursive: true, force: true });
    } catch (error) {
      throw toStorageError(error, "The trash could not be prepared", { path: this.draft });
    }
  }
}
