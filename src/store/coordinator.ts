import { encodeEvent } from "../session/encoding.ts";
import type { SessionEvent } from "../session/events.ts";
import { decodeHeader, newHeader, type SessionHeader } from "../session/header.ts";
import { SessionLog } from "../session/log.ts";
import { SessionProjections } from "../session/projections/index.ts";
import type { SessionRecord } from "../session/records.ts";
import { Session } from "../session/session.ts";
import { waitFor } from "../session/wait-for.ts";
import type { Page, PageRequest, SnapshotSummary, StorageBackend } from "./backend.ts";
import { assertKnownTypes, streamStored, toSnapshot } from "./cold-read.ts";
import { ColdReader } from "./cold-reader.ts";
import { CommitQueue, type CommitQueueOptions, scheduleTimer } from "./commit-queue.ts";
import { AlreadyExistsError, ClosedError, NotFoundError, SessionOpenError } from "./errors.ts";
import { KeyedMutex } from "./keyed-mutex.ts";
import type {
  Cancellable,
  ListRequest,
  Preparation,
  SessionPersistence,
  SessionSnapshot,
  SessionStream,
  SessionSummary,
  StoreHealth,
  StreamOptions,
} from "./persistence.ts";
import { Readiness } from "./readiness.ts";
import { assertContiguous, boundedLimit, boundedPage, eventsFrom, summarise } from "./reading.ts";
import { SessionEntries } from "./session-entries.ts";
import { SessionEntry } from "./session-entry.ts";

export interface CoordinatorOptions extends CommitQueueOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

const DEFAULT_READ_LIMIT = 1_000;

/** All that backends share, written once against {@link StorageBackend}: see persistence.ts for what it promises. */
export class PersistenceCoordinator implements SessionPersistence {
  readonly #backend: StorageBackend;
  readonly #clock: () => number;
  readonly #queue: CommitQueue;
  readonly #readiness: Readiness;
  readonly #mutex = new KeyedMutex();
  readonly #entries: SessionEntries;
  readonly #cold: ColdReader;
  #closing: Promise<void> | undefined;

  constructor(backend: StorageBackend, options: CoordinatorOptions) {
    this.#backend = backend;
    this.#clock = options.clock;
    this.#queue = new CommitQueue((batches) => backend.appendBatch(batches), options);
    this.#entries = new SessionEntries(this.#queue);
    this.#cold = new ColdReader(backend);
    this.#readiness = new Readiness(backend, this.#queue, options.schedule ?? scheduleTimer);
  }

  locate(header: SessionHeader): string {
    return this.#backend.locate(header);
  }

  create(header: SessionHeader, options: Cancellable = {}): Promise<Session> {
    return this.#exclusive(header.id, options, async () => {
      const own = newHeader(header);
      const taken = this.#entries.isOpen(own.id) || (await this.#backend.readRevision(own.id)) !== undefined;
      if (taken) throw new AlreadyExistsError(own.id);
      return this.#openSession(own, [], new SessionProjections(), SessionEntry.registered(own, this.#queue));
    });
  }

  async append(id: string, events: readonly SessionEvent[], options: Cancellable = {}): Promise<void> {
    this.#assertOpen();
    const encoded = events.map(encodeEvent);
    if (encoded.length === 0) return;
    for (;;) {
      const entry = await this.#entry(id, options);
      await waitFor(entry.writable(), options.signal);
      this.#assertOpen();
      options.signal?.throwIfAborted();
      // While this waited the session may have been resumed, closed or deleted: then another entry counts.
      if (entry === this.#entries.current(id)) return waitFor(entry.submit(encoded), options.signal);
    }
  }

  prepare(id: string, options: Cancellable = {}): Promise<Preparation> {
    return this.#exclusive(id, options, async () => {
      if (this.#entries.isOpen(id)) throw new SessionOpenError(id);
      await this.#entries.settleIdle(id);
      const cold = await this.#cold.read(id, options.signal);
      const { closers, projections } = cold;
      const revision = await this.#cold.recover(id, cold);
      const entry = SessionEntry.stored(id, this.#queue, projections.seen, projections.surface, revision);
      const session = this.#openSession(
        cold.header,
        [...cold.records, ...cold.closerRecords],
        projections.clone(),
        entry,
      );
      this.#cold.forget();
      let published = false;
      return {
        session,
        closers,
        torn: cold.torn !== undefined,
        publish: () => {
          published = true;
          return session;
        },
        [Symbol.asyncDispose]: async () => {
          if (!published) await session[Symbol.asyncDispose]();
        },
      };
    });
  }

  load(id: string, options: Cancellable = {}): Promise<SessionSnapshot> {
    return this.#exclusive(id, options, async () => {
      const open = this.#entries.snapshot(id);
      if (open !== undefined) return open;
      await this.#entries.settleIdle(id);
      const cold = await this.#cold.read(id, options.signal);
      const revision = await this.#cold.recover(id, cold);
      return { ...toSnapshot(cold), closers: [], torn: false, revision };
    });
  }

  inspect(id: string, options: Cancellable = {}): Promise<SessionSnapshot> {
    return this.#exclusive(id, options, async () => {
      const open = this.#entries.snapshot(id);
      if (open !== undefined) return open;
      await this.#entries.settleIdle(id);
      const cold = await this.#cold.read(id, options.signal);
      this.#cold.keep(cold);
      return toSnapshot(cold);
    });
  }

  stream(id: string, options: StreamOptions = {}): Promise<SessionStream> {
    return this.#exclusive(id, options, async () => {
      const stored = await this.#backend.readStored(id, options.fromSeq, options.marks);
      if (stored === undefined) throw new NotFoundError(id);
      return streamStored(id, stored, options);
    });
  }

  async importRecords(
    headerText: string,
    records: readonly SessionRecord[],
    options: Cancellable & { readonly setTornAside?: boolean } = {},
  ): Promise<void> {
    const { id } = decodeHeader(headerText, {});
    const [first] = records;
    if (first === undefined) return;
    assertContiguous(id, records);
    await this.#exclusive(id, options, async () => {
      if (this.#entries.isOpen(id)) throw new SessionOpenError(id);
      await this.#entries.settleIdle(id);
      const torn = options.setTornAside === true ? await this.#cold.readTorn(id, options.signal) : undefined;
      if (torn !== undefined) {
        await this.#backend.commitRepair(id, { torn, expectedSeq: first.seq, records });
        return;
      }
      const isNew = first.seq === 0 && (await this.#backend.readRevision(id)) === undefined;
      const header = isNew ? { header: headerText } : {};
      const [outcome] = await this.#backend.appendBatch([{ id, ...header, expectedSeq: first.seq, records }]);
      if (outcome?.ok !== true) throw outcome?.error ?? new NotFoundError(id);
    });
  }

  async readFrom(
    id: string,
    fromSeq: number,
    options: Cancellable & { readonly limit?: number } = {},
  ): Promise<readonly SessionEvent[]> {
    this.#assertOpen();
    options.signal?.throwIfAborted();
    const limit = boundedLimit(options.limit ?? DEFAULT_READ_LIMIT);
    const decoded = await this.#backend.readSuffix(id, fromSeq, limit);
    if (decoded === undefined) {
      if (this.#entries.isOpen(id)) return [];
      throw new NotFoundError(id);
    }
    return eventsFrom(id, decoded, fromSeq, limit);
  }

  async list(request: ListRequest & Cancellable = {}): Promise<Page<SessionSummary>> {
    this.#assertOpen();
    request.signal?.throwIfAborted();
    const page = await this.#backend.list(boundedPage(request));
    return { ...page, items: page.items.map(summarise) };
  }

  async listSnapshots(request: PageRequest & Cancellable = {}): Promise<Page<SnapshotSummary>> {
    this.#assertOpen();
    request.signal?.throwIfAborted();
    return this.#backend.listSnapshots(boundedPage(request));
  }

  delete(id: string, options: Cancellable = {}): Promise<void> {
    return this.#exclusive(id, options, async () => {
      if (this.#entries.isOpen(id)) throw new SessionOpenError(id);
      await this.#entries.settleIdle(id);
      this.#cold.forget(id);
      if (!(await this.#backend.delete(id))) throw new NotFoundError(id);
    });
  }

  async hasStrays(): Promise<boolean> {
    this.#assertOpen();
    return (await this.#backend.hasStrays?.()) ?? false;
  }

  async health(): Promise<StoreHealth> {
    if (this.#closing === undefined) return this.#readiness.read();
    return { backend: this.#backend.name, writable: false, problem: "closed" };
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#queue.close();
      this.#entries.clear();
      this.#cold.forget();
      await this.#backend.close();
    })();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #openSession(
    header: SessionHeader,
    records: ConstructorParameters<typeof SessionLog>[1],
    projections: SessionProjections,
    entry: SessionEntry,
  ): Session {
    const log = new SessionLog(header, records, entry, this.#clock);
    entry.attach(log);
    this.#entries.open(header.id, entry);
    return new Session(log, projections, () => {
      entry.close();
      return this.#mutex.run(header.id, async () => {
        await this.#entries.leave(header.id, entry);
      });
    });
  }

  /** The entry that appends by id go through; reads a stored session once to learn its end and its surface. */
  async #entry(id: string, options: Cancellable): Promise<SessionEntry> {
    const known = this.#entries.current(id);
    if (known !== undefined) return known;
    return this.#exclusive(id, options, async () => {
      const raced = this.#entries.current(id);
      if (raced !== undefined) return raced;
      const cold = await this.#cold.read(id, options.signal);
      assertKnownTypes(id, cold);
      // Without closers: an append by id may well be what ends the open Turn.
      const surface = cold.storedSurface;
      const entry = SessionEntry.stored(id, this.#queue, cold.storedSeq, surface, cold.revision);
      this.#entries.keepIdle(id, entry);
      return entry;
    });
  }

  #exclusive<T>(id: string, { signal }: Cancellable, task: () => Promise<T>): Promise<T> {
    const checked = async () => {
      this.#assertOpen();
      signal?.throwIfAborted();
      return task();
    };
    return this.#mutex.run(id, checked, signal);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError();
  }
}
