import { join } from "node:path";
import type { SessionHeader } from "../../session/header.ts";
import type { DecodedRecord } from "../../session/records.ts";
import type {
  AppendBatch,
  AppendOutcome,
  ListRequest,
  MarkRequest,
  Page,
  PageRequest,
  Repair,
  Revision,
  SnapshotSummary,
  StorageBackend,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import { type HoldfastError, NotFoundError, toStorageError } from "../errors.ts";
import type { StorageClient } from "../storage-thread.ts";
import { type Encoding, logPath } from "./layout.ts";
import type { JsonlReader } from "./reader.ts";
import { sizeAt } from "./revision.ts";

/** The hooks over one session root: reads here, writes through the storage client. */
export class JsonlBackend implements StorageBackend {
  readonly name = "jsonl";
  readonly #root: string;
  readonly #encoding: Encoding;
  readonly #reader: JsonlReader;
  readonly #writer: StorageClient;
  readonly #resources: AsyncDisposableStack;
  /** Sessions of which nothing hangs on a process that was killed. */
  readonly #settled = new Set<string>();

  /** Takes over `resources`, which hold reader, writer and lock, and frees them when it is closed. */
  constructor(
    root: string,
    encoding: Encoding,
    reader: JsonlReader,
    writer: StorageClient,
    resources: AsyncDisposableStack,
  ) {
    this.#root = root;
    this.#encoding = encoding;
    this.#reader = reader;
    this.#writer = writer;
    this.#resources = resources;
  }

  locate(header: SessionHeader): string {
    return this.#reader.pathOf(header.id) ?? logPath(this.#root, header, this.#encoding);
  }

  async readStored(id: string, fromSeq?: number, marks?: MarkRequest): Promise<StoredSession | undefined> {
    await this.#settle(id);
    return this.#reader.readStored(id, fromSeq, marks);
  }

  async readRevision(id: string): Promise<Revision | undefined> {
    return this.#reader.readRevision(id);
  }

  async readSuffix(
    id: string,
    fromSeq: number,
    limit: number,
  ): Promise<readonly DecodedRecord[] | undefined> {
    await this.#settle(id);
    return this.#reader.readSuffix(id, fromSeq, limit);
  }

  /** While a batch is on its way to the disk, readers here see no more of its log than what is durable. */
  async appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]> {
    const refused = new Map<AppendBatch, HoldfastError>();
    for (const batch of batches) {
      try {
        this.#reader.hold(batch.id);
      } catch (error) {
        const place = { sessionId: batch.id };
        refused.set(batch, toStorageError(error, "The append could not be saved", place));
      }
    }
    const sent = batches.filter((batch) => !refused.has(batch));
    const outcomes = await this.#send(sent);
    return batches.map((batch) => {
      const error = refused.get(batch);
      if (error !== undefined) return { ok: false, error };
      return outcomes[sent.indexOf(batch)] ?? { ok: false, error: new NotFoundError(batch.id) };
    });
  }

  /** What is read counts as committed: it must not be lost any more. */
  async #settle(id: string): Promise<void> {
    if (this.#settled.has(id) || this.#reader.isHeld(id)) return;
    await this.#writer.settle(id);
    this.#settled.add(id);
  }

  async #send(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]> {
    if (batches.length === 0) return [];
    let outcomes: readonly AppendOutcome[] = [];
    try {
      outcomes = await this.#writer.appendBatch(batches);
      return outcomes;
    } finally {
      for (const [k, { id, records }] of batches.entries()) {
        const outcome = outcomes[k];
        if (outcome?.ok === true) this.#reader.release(id, sizeAt(outcome.revision), records);
        else this.#reader.releaseFailed(id);
      }
    }
  }

  async commitRepair(id: string, repair: Repair): Promise<Revision> {
    try {
      // What is known of the log ends where its torn tail begins, and stays right.
      return await this.#writer.commitRepair(id, repair);
    } catch (error) {
      this.#reader.forget(id);
      throw error;
    }
  }

  async list(request: ListRequest): Promise<Page<StoredSummary>> {
    return this.#reader.list(request);
  }

  async listSnapshots(request: PageRequest): Promise<Page<SnapshotSummary>> {
    return this.#reader.listSnapshots(request);
  }

  async delete(id: string): Promise<boolean> {
    try {
      return await this.#writer.delete(id);
    } finally {
      this.#reader.forget(id);
    }
  }

  checkWritable(): Promise<void> {
    return this.#writer.checkWritable();
  }

  async hasRoom(): Promise<boolean> {
    const { hasRoom } = await import("../room.ts");
    return hasRoom(this.#root, join(this.#root, ".holdfast.trial"));
  }

  async close(): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
