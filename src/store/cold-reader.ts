import type { Revision, StorageBackend, TornMarker } from "./backend.ts";
import { assertKnownTypes, type ColdSession, readCold } from "./cold-read.ts";
import { NotFoundError } from "./errors.ts";

/** Longest log, in records, that is kept between an `inspect` and the `prepare` that may follow. */
const MAX_CACHED_RECORDS = 100_000;

/** Reads stored sessions whole, and commits what recovery adds to them. */
export class ColdReader {
  readonly #backend: StorageBackend;
  /** The newest session that was kept; used again while its revision is the stored one. */
  #kept: ColdSession | undefined;

  constructor(backend: StorageBackend) {
    this.#backend = backend;
  }

  /** @throws NotFoundError, CorruptError, UnsupportedFormatError, and the reason of `signal` */
  async read(id: string, signal?: AbortSignal): Promise<ColdSession> {
    // Another session may take its place while this one's revision is asked for.
    const kept = this.#kept;
    if (kept?.header.id === id && (await this.#backend.readRevision(id)) === kept.revision) return kept;
    this.#kept = undefined;
    const stored = await this.#backend.readStored(id);
    if (stored === undefined) throw new NotFoundError(id);
    return readCold(id, stored, signal);
  }

  /** Keeps a session in memory for whoever reads it next, unless it is long. */
  keep(cold: ColdSession): void {
    if (cold.records.length <= MAX_CACHED_RECORDS) this.#kept = cold;
  }

  /** Lets go of the session that is kept; with an id only if it is that one. */
  forget(id?: string): void {
    if (id === undefined || this.#kept?.header.id === id) this.#kept = undefined;
  }

  /** What is torn off at the end of a stored log, if anything. Costs a reading of all of it. */
  async readTorn(id: string, signal?: AbortSignal): Promise<TornMarker | undefined> {
    const stored = await this.#backend.readStored(id);
    if (stored === undefined) return undefined;
    for await (const _ of stored.pages) signal?.throwIfAborted();
    return stored.torn();
  }

  /** Commits what recovery adds, if anything; afterwards the stored session is closed and whole. */
  async recover(id: string, cold: ColdSession): Promise<Revision> {
    assertKnownTypes(id, cold);
    const { closerRecords: records, torn, storedSeq: expectedSeq } = cold;
    if (records.length === 0 && torn === undefined) return cold.revision;
    this.#kept = undefined;
    return this.#backend.commitRepair(id, { expectedSeq, records, ...(torn === undefined ? {} : { torn }) });
  }
}
