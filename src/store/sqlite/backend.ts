import { dirname } from "node:path";
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
import { ClosedError } from "../errors.ts";
import type { StorageClient } from "../storage-thread.ts";
import type { SqliteReader } from "./reader.ts";

/** The hooks over one SQLite file: reads on a read-only connection here, writes through the storage client. */
export class SqliteBackend implements StorageBackend {
  readonly name = "sqlite";
  readonly #path: string;
  readonly #reader: SqliteReader;
  readonly #writer: StorageClient;
  readonly #resources: AsyncDisposableStack;
  #closed = false;

  /** Takes over `resources`, which hold reader, writer and lock, and frees them when it is closed. */
  constructor(path: string, reader: SqliteReader, writer: StorageClient, resources: AsyncDisposableStack) {
    this.#path = path;
    this.#reader = reader;
    this.#writer = writer;
    this.#resources = resources;
  }

  locate({ id }: SessionHeader): string {
    return `${this.#path}#${id}`;
  }

  async readStored(id: string, fromSeq?: number, marks?: MarkRequest): Promise<StoredSession | undefined> {
    return marks === undefined ? this.#open.readStored(id, fromSeq) : this.#open.readMarked(id, marks);
  }

  async readRevision(id: string): Promise<Revision | undefined> {
    return this.#open.readRevision(id);
  }

  async readSuffix(
    id: string,
    fromSeq: number,
    limit: number,
  ): Promise<readonly DecodedRecord[] | undefined> {
    return this.#open.readSuffix(id, fromSeq, limit);
  }

  appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]> {
    return this.#writer.appendBatch(batches);
  }

  commitRepair(id: string, repair: Repair): Promise<Revision> {
    return this.#writer.commitRepair(id, repair);
  }

  async list(request: ListRequest): Promise<Page<StoredSummary>> {
    return this.#open.list(request);
  }

  async listSnapshots(request: PageRequest): Promise<Page<SnapshotSummary>> {
    return this.#open.listSnapshots(request);
  }

  delete(id: string): Promise<boolean> {
    return this.#writer.delete(id);
  }

  checkWritable(): Promise<void> {
    return this.#writer.checkWritable();
  }

  async hasStrays(): Promise<boolean> {
    return this.#open.hasStrays();
  }

  async hasRoom(): Promise<boolean> {
    const { hasRoom } = await import("../room.ts");
    return hasRoom(dirname(this.#path), `${this.#path}.trial`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#resources.disposeAsync();
  }

  get #open(): SqliteReader {
    if (this.#closed) throw new ClosedError();
    return this.#reader;
  }
}
