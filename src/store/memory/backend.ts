import { type DecodedRecord, decodeRecord, type SessionRecord } from "../../session/records.ts";
import type {
  AppendBatch,
  AppendOutcome,
  Page,
  PageRequest,
  Repair,
  Revision,
  SnapshotSummary,
  StorageBackend,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import {
  AlreadyExistsError,
  ClosedError,
  type HoldfastError,
  NotFoundError,
  SequenceConflictError,
} from "../errors.ts";

interface MemorySession {
  /** Number of creation; never used again, so that a revision is not either. */
  readonly number: number;
  readonly headerText: string;
  readonly records: SessionRecord[];
}

/** Records of a page, and their text in UTF-16 units; a single record may have more. */
const PAGE = 512;
const PAGE_LENGTH = 1024 * 1024;

/** Sessions in memory, with the same rules as on disk. */
export class MemoryBackend implements StorageBackend {
  readonly name = "memory";
  readonly #sessions = new Map<string, MemorySession>();
  #created = 0;
  #closed = false;

  locate(): string {
    return "memory";
  }

  async readStored(id: string, fromSeq = 0): Promise<StoredSession | undefined> {
    this.#assertOpen();
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    const records = session.records.filter(({ seq, count }) => seq + count > fromSeq);
    return {
      headerText: session.headerText,
      revision: revisionOf(session),
      pages: (async function* () {
        let page: SessionRecord[] = [];
        let length = 0;
        for (const record of records) {
          page.push(record);
          length += record.text.length;
          if (page.length < PAGE && length < PAGE_LENGTH) continue;
          yield decode(id, page);
          page = [];
          length = 0;
        }
        if (page.length > 0) yield decode(id, page);
      })(),
      torn: () => undefined,
    };
  }

  async readRevision(id: string): Promise<Revision | undefined> {
    this.#assertOpen();
    const session = this.#sessions.get(id);
    return session === undefined ? undefined : revisionOf(session);
  }

  async readSuffix(
    id: string,
    fromSeq: number,
    limit: number,
  ): Promise<readonly DecodedRecord[] | undefined> {
    this.#assertOpen();
    const records = this.#sessions.get(id)?.records;
    if (records === undefined) return undefined;
    let from = records.length;
    while (from > 0 && nextSeq(records.slice(from - 1, from)) > fromSeq) from -= 1;
    return decode(id, records.slice(from, from + limit));
  }

  async appendBatch(batches: readonly AppendBatch[]): Promise<readonly AppendOutcome[]> {
    this.#assertOpen();
    return batches.map((batch) => {
      const session = this.#find(batch);
      if ("code" in session) return { ok: false, error: session };
      for (const record of batch.records) session.records.push(record);
      this.#sessions.set(batch.id, session);
      return { ok: true, revision: revisionOf(session) };
    });
  }

  async commitRepair(id: string, { expectedSeq, records }: Repair): Promise<Revision> {
    const [outcome] = await this.appendBatch([{ id, expectedSeq, records }]);
    if (outcome?.ok === true) return outcome.revision;
    throw outcome?.error ?? new NotFoundError(id);
  }

  async list(request: PageRequest): Promise<Page<StoredSummary>> {
    return this.#page(request, (id, { headerText }) => ({ id, headerText }));
  }

  async listSnapshots(request: PageRequest): Promise<Page<SnapshotSummary>> {
    return this.#page(request, (id, session) => ({ id, revision: revisionOf(session) }));
  }

  async delete(id: string): Promise<boolean> {
    this.#assertOpen();
    return this.#sessions.delete(id);
  }

  async checkWritable(): Promise<void> {
    this.#assertOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sessions.clear();
  }

  #find({ id, header, expectedSeq }: AppendBatch): MemorySession | HoldfastError {
    const session = this.#sessions.get(id);
    if (session !== undefined && header !== undefined) return new AlreadyExistsError(id);
    const next = nextSeq(session?.records ?? []);
    if (session === undefined && header === undefined) return new NotFoundError(id);
    if (next !== expectedSeq) return new SequenceConflictError(id, expectedSeq, next);
    if (session !== undefined) return session;
    this.#created += 1;
    return { number: this.#created, headerText: header ?? "", records: [] };
  }

  /** Newest first; the cursor is the number of the last session that was given out. */
  #page<T>({ limit = 100, cursor }: PageRequest, map: (id: string, session: MemorySession) => T): Page<T> {
    this.#assertOpen();
    const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor);
    const matching = [...this.#sessions]
      .filter(([, { number }]) => number < before)
      .sort(([, a], [, b]) => b.number - a.number);
    const page = matching.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(([id, session]) => map(id, session)),
      ...(matching.length > limit && last !== undefined ? { nextCursor: String(last[1].number) } : {}),
    };
  }

  #assertOpen(): void {
    if (this.#closed) throw new ClosedError();
  }
}

function nextSeq(records: readonly SessionRecord[]): number {
  const last = records.at(-1);
  return last === undefined ? 0 : last.seq + last.count;
}

function revisionOf({ number, records }: MemorySession): Revision {
  return `${number}.${nextSeq(records)}`;
}

function decode(sessionId: string, records: readonly SessionRecord[]): DecodedRecord[] {
  return records.map(({ text, seq }) => decodeRecord(text, { sessionId, seq }));
}
