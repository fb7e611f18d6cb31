import type { SessionEvent } from "../session/events.ts";
import { decodeHeader, newHeader, type SessionHeader } from "../session/header.ts";
import { SessionLog } from "../session/log.ts";
import { SessionProjections } from "../session/projections/index.ts";
import { encodeEvent, type SessionRecord } from "../session/records.ts";
import { Session } from "../session/session.ts";
import { waitFor } from "../session/wait-for.ts";
import type { Page, PageRequest, Revision, SnapshotSummary, StorageBackend, TornMarker } from "./backend.ts";
import { assertKnownTypes, type ColdSession, readCold, streamStored, toSnapshot } from "./cold-read.ts";
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
import { SessionEntry } from "./session-entry.ts";

export interface CoordinatorOptions extends CommitQueueOptions {
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Entries kept for sessions that are appended to by id without being open. */
const MAX_IDLE_ENTRIES = 256;
/** Longest log, in records, that is kept between an `inspect` and the `prepare` that may follow. */
const MAX_CACHED_RECORDS = 100_000;
const DEFAULT_READ_LIMIT = 1_000;

/** All that backends share, written once against {@link StorageBackend}: see persistence.ts for what it promises. */
export class PersistenceCoordinator implements SessionPersistence {
  readonly #backend: StorageBackend;
  readonly #clock: () => number;
  readonly #queue: CommitQueue;
  readonly #readiness: Readiness;
  readonly #mutex = new KeyedMutex();
  /** Sessions that are open in this process: created, prepared or published. */
  readonly #open = new Map<string, SessionEntry>();
  readonly #idle = new Map<string, SessionEntry>();
  /** The newest inspected session; used again while its revision is the stored one. */
  #cold: ColdSession | undefined;
  #closing: Promise<void> | undefined;

  constructor(backend: StorageBackend, options: CoordinatorOptions) {
    this.#backend = backend;
    this.#clock = options.clock;
    this.#queue = new CommitQueue((batches) => backend.appendBatch(batches), options);
    this.#readiness = new Readiness(backend, this.#queue, options.schedule ?? scheduleTimer);
  }

  locate(header: SessionHeader): string {
    return this.#backend.locate(header);
  }

  create(header: SessionHeader, options: Cancellable = {}): Promise<Session> {
    return this.#exclusive(header.id, options, async () => {
      const own = newHeader(header);
      const taken = this.#open.has(own.id) || (await this.#backend.readRevision(own.id)) !== undefined;
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
      if (entry === this.#current(id)) return waitFor(entry.submit(encoded), options.signal);
    }
  }

  prepare(id: string, options: Cancellable = {}): Promise<Preparation> {
    return this.#exclusive(id, options, async () => {
      if (this.#open.has(id)) throw new SessionOpenError(id);
      await this.#settleIdle(id);
      const cold = await this.#readCold(id, options.signal);
      const { closers, projections } = cold;
      const revision = await this.#recover(id, cold);
      const entry = SessionEntry.stored(id, this.#queue, projections.seen, projections.surface, revision);
      const session = this.#openSession(
        cold.header,
        [...cold.records, ...cold.closerRecords],
        projections.clone(),
        entry,
      );
      this.#cold = undefined;
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
      const open = this.#snapshotOpen(id);
      if (open !== undefined) return open;
      await this.#settleIdle(id);
      const cold = await this.#readCold(id, options.signal);
      const revision = await this.#recover(id, cold);
      return { ...toSnapshot(cold), closers: [], torn: false, revision };
    });
  }

  inspect(id: string, options: Cancellable = {}): Promise<SessionSnapshot> {
    return this.#exclusive(id, options, async () => {
      const open = this.#snapshotOpen(id);
      if (open !== undefined) return open;
      await this.#settleIdle(id);
      const cold = await this.#readCold(id, options.signal);
      if (cold.records.length <= MAX_CACHED_RECORDS) this.#cold = cold;
      return toSnapshot(cold);
    });
  }

  stream(id: string, options: StreamOptions = {}): Promise<SessionStream> {
    return this.#exclusive(id, options, async () => {
      const stored = await this.#backend.readStored(id, options.fromSeq);
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
      if (this.#open.has(id)) throw new SessionOpenError(id);
      await this.#settleIdle(id);
      const torn = options.setTornAside === true ? await this.#readTorn(id, options.signal) : undefined;
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
      if (this.#open.has(id)) return [];
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
      if (this.#open.has(id)) throw new SessionOpenError(id);
      await this.#settleIdle(id);
      if (this.#cold?.header.id === id) this.#cold = undefined;
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
      this.#open.clear();
      this.#idle.clear();
      this.#cold = undefined;
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
    this.#idle.delete(header.id);
    this.#open.set(header.id, entry);
    return new Session(log, projections, () => {
      entry.close();
      return this.#mutex.run(header.id, async () => {
        if (entry.busy) await this.#queue.drain();
        if (this.#open.get(header.id) === entry) this.#open.delete(header.id);
      });
    });
  }

  /** The entry that appends by id go through; reads a stored session once to learn its end and its surface. */
  async #entry(id: string, options: Cancellable): Promise<SessionEntry> {
    const known = this.#current(id);
    if (known !== undefined) return known;
    return this.#exclusive(id, options, async () => {
      const raced = this.#current(id);
      if (raced !== undefined) return raced;
      const cold = await this.#readCold(id, options.signal);
      assertKnownTypes(id, cold);
      // Without closers: an append by id may well be what ends the open Turn.
      const surface = cold.storedSurface;
      const entry = SessionEntry.stored(id, this.#queue, cold.storedSeq, surface, cold.revision);
      for (const [key, idle] of this.#idle) {
        if (this.#idle.size < MAX_IDLE_ENTRIES) break;
        if (!idle.busy) this.#idle.delete(key);
      }
      this.#idle.set(id, entry);
      return entry;
    });
  }

  /** The entry that takes appends to this session now. */
  #current(id: string): SessionEntry | undefined {
    const entry = this.#open.get(id) ?? this.#idle.get(id);
    return entry?.closed === true ? undefined : entry;
  }

  /** Forgets the entry of appends by id and lets those on their way finish: what follows reads the store. */
  async #settleIdle(id: string): Promise<void> {
    const entry = this.#idle.get(id);
    this.#idle.delete(id);
    if (entry?.busy === true) await this.#queue.drain();
  }

  async #readCold(id: string, signal?: AbortSignal): Promise<ColdSession> {
    if (this.#cold?.header.id === id && (await this.#backend.readRevision(id)) === this.#cold.revision) {
      return this.#cold;
    }
    this.#cold = undefined;
    const stored = await this.#backend.readStored(id);
    if (stored === undefined) throw new NotFoundError(id);
    return readCold(id, stored, signal);
  }

  /** What is torn off at the end of a stored log, if anything. Costs a reading of all of it. */
  async #readTorn(id: string, signal?: AbortSignal): Promise<TornMarker | undefined> {
    const stored = await this.#backend.readStored(id);
    if (stored === undefined) return undefined;
    for await (const _ of stored.pages) signal?.throwIfAborted();
    return stored.torn();
  }

  /** Commits what recovery adds, if anything; afterwards the stored session is closed and whole. */
  async #recover(id: string, cold: ColdSession): Promise<Revision> {
    assertKnownTypes(id, cold);
    const { closerRecords: records, torn, storedSeq: expectedSeq } = cold;
    if (records.length === 0 && torn === undefined) return cold.revision;
    this.#cold = undefined;
    return this.#backend.commitRepair(id, { expectedSeq, records, ...(torn === undefined ? {} : { torn }) });
  }

  #snapshotOpen(id: string): SessionSnapshot | undefined {
    const entry = this.#open.get(id);
    const log = entry?.log;
    if (entry === undefined || log === undefined) return undefined;
    if (entry.revision === undefined) throw new NotFoundError(id);
    const view = log.snapshot();
    const projections = new SessionProjections().catchUp(view);
    return {
      header: log.header,
      log: view,
      projections,
      closers: [],
      revision: entry.revision,
      torn: false,
      unknownTypes: [],
    };
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
