import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { NotFoundError, StorageFailedError, toStorageError } from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import type { Place, SessionRemover, Trashed, TrashFolder } from "../trash.ts";
import { describeDuplicate, findLogs } from "./directory.ts";
import { INDEX_SUFFIX } from "./layout.ts";
import { removeEmptyFolders } from "./materialise.ts";

/** What makes up one session. */
interface OccupiedPlace extends Place {
  readonly logs: readonly string[];
}

/** Removes sessions of a root by moving and unlinking alone: nothing of a log is read. The caller holds the lock. */
export class JsonlRemover implements SessionRemover {
  readonly #root: string;
  readonly #trash: TrashFolder;
  readonly #system: FileSystem;

  constructor(root: string, trash: TrashFolder, system: FileSystem = SYSTEM) {
    this.#root = root;
    this.#trash = trash;
    this.#system = system;
  }

  get folder(): string {
    return this.#trash.path;
  }

  async trash(id: string): Promise<Trashed> {
    const { path, isFolder } = this.#placeOf(id);
    // An index is only good for the file that it lies beside, and is made again there.
    if (!isFolder) rmSync(path + INDEX_SUFFIX, { force: true });
    const to = this.#trash.take(path, this.#root);
    this.#dropEmpty(path);
    return { form: "log", path: to, from: { path, isFolder } };
  }

  async purge(id: string): Promise<void> {
    const { path, isFolder, logs } = this.#placeOf(id);
    try {
      // Its log goes last: until then a kill leaves a session, and the next purge takes what is left of it.
      for (const other of isFolder ? othersIn(path, logs) : [])
        rmSync(other, { recursive: true, force: true });
      for (const log of logs) this.#system.remove(log);
      this.#system.syncFolder(dirname(logs[0] ?? path));
      rmSync(isFolder ? path : path + INDEX_SUFFIX, { recursive: true, force: true });
    } catch (error) {
      throw toStorageError(error, "The session could not be deleted", { path, sessionId: id });
    }
    this.#dropEmpty(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #placeOf(id: string): OccupiedPlace {
    const found = findLogs(this.#root, id);
    const [first] = found;
    if (first === undefined) throw new NotFoundError(id, this.#root);
    const places = new Map(found.map((log) => [log.key[2] === "" ? log.path : dirname(log.path), log]));
    if (places.size > 1) {
      throw new StorageFailedError(describeDuplicate(found.map(({ path }) => path)), {
        place: { sessionId: id },
        hint: "Move all but one of them out of the root, and delete it then.",
      });
    }
    const isFolder = first.key[2] !== "";
    const path = isFolder ? dirname(first.path) : first.path;
    return { path, isFolder, logs: found.map((log) => log.path) };
  }

  /** A project's folder goes with its last session, as far as this user may remove it. */
  #dropEmpty(path: string): void {
    try {
      removeEmptyFolders(path, this.#system);
    } catch {
      // It is empty, and is listed nowhere.
    }
  }
}

/** All that lies in the folder of a session beside its logs, such as backups. */
function othersIn(folder: string, logs: readonly string[]): readonly string[] {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  return paths.filter((path) => !logs.includes(path));
}
