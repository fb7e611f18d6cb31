import { dirname } from "node:path";
import { copySession } from "../copy.ts";
import { CorruptError, type HoldfastError, IdTooLongError, UnsupportedFormatError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import { openStore } from "../open-store.ts";
import type { SessionPersistence } from "../persistence.ts";
import type { SessionRemover, Trashed, TrashFolder } from "../trash.ts";
import { exportRows } from "./export-rows.ts";

/**
 * Removes sessions of a database. For the trash each is written as a session log, durable and read back, before it is
 * deleted; one that cannot be read whole is kept as the rows that it is made of.
 */
export class SqliteRemover implements SessionRemover {
  readonly #path: string;
  readonly #store: SessionPersistence;
  readonly #trash: TrashFolder;
  readonly #clock: () => number;
  /** Where logs are written until they are whole. */
  #draft: SessionPersistence | undefined;

  constructor(path: string, store: SessionPersistence, trash: TrashFolder, clock: () => number) {
    this.#path = path;
    this.#store = store;
    this.#trash = trash;
    this.#clock = clock;
  }

  get folder(): string {
    return this.#trash.path;
  }

  async trash(id: string): Promise<Trashed> {
    const kept = await this.#keep(id);
    await this.#store.delete(id);
    return kept;
  }

  purge(id: string): Promise<void> {
    return this.#store.delete(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#draft === undefined) return;
    await this.#draft.close();
    try {
      this.#trash.dropDraft();
    } catch {
      // Nothing that counts is in it, and the next one removes it.
    }
  }

  async #keep(id: string): Promise<Trashed> {
    const draft = await this.#openDraft();
    const result = await copySession(this.#store, draft, id);
    if (result.state === "failed") {
      if (!isOfSession(result.error)) throw result.error;
      return this.#keepRows(id, reasonOf(result.error), false);
    }
    // Only a log with an event in it is a session.
    if (result.state === "empty") return this.#keepRows(id, EMPTY, true);
    const { header } = await draft.stream(id);
    const log = this.#trash.take(dirname(draft.locate(header)), this.#trash.draft);
    return { form: "log", path: log };
  }

  #keepRows(id: string, reason: Finding, isEmpty: boolean): Trashed {
    this.#trash.make();
    return { form: "rows", path: exportRows(this.#path, id, reason, this.#trash.path), isEmpty };
  }

  async #openDraft(): Promise<SessionPersistence> {
    if (this.#draft !== undefined) return this.#draft;
    this.#trash.dropDraft();
    const name = { kind: "jsonl", path: this.#trash.draft } as const;
    const options = { clock: this.#clock, chunkWindowMs: 0, thread: "process", encoding: "zstd" } as const;
    this.#draft = await openStore(name, options);
    return this.#draft;
  }
}

const EMPTY: Finding = { code: "events-missing", message: "The session has no event", place: {} };

/** Whether it is the session that cannot be written as a log, and not the disk. */
function isOfSession(error: HoldfastError): boolean {
  return (
    error instanceof CorruptError ||
    error instanceof UnsupportedFormatError ||
    error instanceof IdTooLongError
  );
}

function reasonOf(error: HoldfastError): Finding {
  if (error instanceof CorruptError) return findingOf("damaged", error);
  const code = error instanceof UnsupportedFormatError ? "unsupported-version" : "unreadable";
  return { code, message: error.message, place: error.place };
}
