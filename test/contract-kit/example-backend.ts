import { Database } from "bun:sqlite";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import type * as Seam from "holdfast/backend";
import {
  AlreadyExistsError,
  ClosedError,
  errorCode,
  LockedError,
  NotFoundError,
  SequenceConflictError,
  toStorageError,
} from "holdfast/errors";
import type { DecodedRecord } from "holdfast/records";
import { ExampleFile, syncFolder, type Write } from "./example-file.ts";

/** A store in a folder: a file of lines for each session. Small rather than quick, and safe all the same. */
export class ExampleBackend implements Seam.StorageBackend {
  readonly name = "example";
  readonly #folder: string;
  readonly #write: Write;
  readonly #lock: Disposable;
  readonly #sessions = new Map<string, ExampleFile>();
  #closed = false;

  constructor(folder: string, write: Write = fs.writeSync) {
    this.#folder = folder;
    this.#write = write;
    using stack = new DisposableStack();
    this.#lock = stack.use(lock(join(folder, "lock")));
    for (const name of fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
      const found = ExampleFile.find(join(folder, name), write);
      if (found !== undefined) this.#sessions.set(found.id, found);
    }
    stack.move();
  }

  locate({ id }: { readonly id: string }): string {
    // Not the id itself: "..", "a/b" and half a character are ids, too. JSON escapes what UTF-8 cannot hold.
    return join(this.#folder, `${createHash("sha256").update(JSON.stringify(id)).digest("hex")}.jsonl`);
  }

  async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    const session = this.#find(id);
    if (session === undefined) return undefined;
    const torn = session.torn > 0 ? { bytes: session.torn } : undefined;
    const pages = (async function* () {
      yield* session.read(0);
    })();
    return { headerText: session.header, revision: session.revision, pages, torn: () => torn };
  }

  async readRevision(id: string): Promise<Seam.Revision | undefined> {
    return this.#find(id)?.revision;
  }

  async readSuffix(
    id: string,
    fromSeq: number,
    limit: number,
  ): Promise<readonly DecodedRecord[] | undefined> {
    const session = this.#find(id);
    if (session === undefined) return undefined;
    const found: DecodedRecord[] = [];
    for (const page of session.read(session.lineOf(fromSeq))) {
      found.push(...page.filter(({ record }) => record.seq + record.count > fromSeq));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  async appendBatch(batches: readonly Seam.AppendBatch[]): Promise<readonly Seam.AppendOutcome[]> {
    return batches.map((batch) => {
      try {
        return { ok: true, revision: this.#append(batch) };
      } catch (error) {
        const what = "The append could not be saved";
        return { ok: false, error: toStorageError(error, what, { sessionId: batch.id }) };
      }
    });
  }

  async commitRepair(id: string, { torn, ...repair }: Seam.Repair): Promise<Seam.Revision> {
    try {
      return this.#append({ id, ...repair }, torn !== undefined);
    } catch (error) {
      throw toStorageError(error, "The repair could not be saved", { sessionId: id });
    }
  }

  async list(request: Seam.PageRequest): Promise<Seam.Page<Seam.StoredSummary>> {
    return this.#page(request, ({ id, header: headerText, path: location, fault }) => {
      if (fault === undefined) return { id, headerText, location };
      return { id, headerText, location, problem: { state: "corrupt", reason: fault.message } };
    });
  }

  async listSnapshots(request: Seam.PageRequest): Promise<Seam.Page<Seam.SnapshotSummary>> {
    return this.#page(request, ({ id, revision }) => ({ id, revision }));
  }

  async delete(id: string): Promise<boolean> {
    const session = this.#find(id);
    if (session === undefined) return false;
    for (const path of [session.path, `${session.path}.torn`]) fs.rmSync(path, { force: true });
    this.#sessions.delete(id);
    syncFolder(this.#folder);
    return true;
  }

  async checkWritable(): Promise<void> {
    try {
      fs.accessSync(this.#folder, fs.constants.W_OK);
    } catch (error) {
      throw toStorageError(error, "The folder cannot be written", { path: this.#folder });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sessions.clear();
    this.#lock[Symbol.dispose]();
  }

  #find(id: string): ExampleFile | undefined {
    if (this.#closed) throw new ClosedError();
    return this.#sessions.get(id);
  }

  #append({ id, header, expectedSeq, records }: Seam.AppendBatch, isRepair = false): Seam.Revision {
    const known = this.#find(id);
    if (known !== undefined && header !== undefined) throw new AlreadyExistsError(id);
    const next = known?.next ?? 0;
    const birth = randomUUID();
    const session = known ?? (header === undefined ? undefined : this.#make({ id, birth, header }));
    if (session === undefined) throw new NotFoundError(id, this.#folder);
    if (expectedSeq !== next) throw new SequenceConflictError(id, expectedSeq, next);
    if (isRepair) session.setAside();
    session.append(records);
    // From here on it is durable, and only from here on it is there.
    this.#sessions.set(id, session);
    return session.revision;
  }

  #make(session: { readonly id: string; readonly birth: string; readonly header: string }): ExampleFile {
    return new ExampleFile(this.locate(session), session, this.#write);
  }

  /** By the paths of files. The cursor is the last one: a position would shift when sessions come and go. */
  #page<T>({ limit = 100, cursor = "" }: Seam.PageRequest, map: (session: ExampleFile) => T): Seam.Page<T> {
    if (this.#closed) throw new ClosedError();
    const after = [...this.#sessions.values()].filter(({ path }) => path > cursor);
    after.sort((a, b) => (a.path < b.path ? -1 : 1));
    const page = after.slice(0, limit);
    const last = page.at(-1)?.path;
    return {
      items: page.map(map),
      ...(after.length > limit && last !== undefined ? { nextCursor: last } : {}),
    };
  }
}

/** A lock of the operating system, by way of SQLite: it ends with its process, however that ends. */
function lock(path: string): Disposable {
  const database = new Database(path);
  try {
    database.run("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (errorCode(error)?.startsWith("SQLITE_BUSY") === true) throw new LockedError(path, undefined);
    throw toStorageError(error, "The store could not be locked", { path });
  }
  return { [Symbol.dispose]: () => database.close() };
}
