import { type BigIntStats, statSync } from "node:fs";
import type { DecodedRecord } from "../../session/records.ts";
import type {
  ListRequest,
  Page,
  PageRequest,
  Revision,
  SnapshotSummary,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import { breathe, STRETCH } from "../breathe.ts";
import { ClosedError, CorruptError, errorCode, HoldfastError, toStorageError } from "../errors.ts";
import { findLog } from "./directory.ts";
import { readHead } from "./head.ts";
import { LargeLog } from "./large-log.ts";
import { assertShortId } from "./layout.ts";
import { listLogs } from "./listing.ts";
import { identityOf, isSameFile, LogFile, type LogLocation } from "./log-file.ts";
import { LogIndex } from "./log-index.ts";
import { addStep, type LogReading, logPages } from "./pages.ts";
import { lookNear } from "./probe.ts";
import { revisionUpTo } from "./revision.ts";
import { scanLog } from "./scan.ts";
import { readSidecar, writeSidecar } from "./sidecar.ts";
import type { TornTail } from "./torn-tail.ts";

/** Indexes kept in memory. */
const MAX_INDEXES = 256;
/** Smaller logs are read whole in no time. */
const LEAST_INDEXED = 256 * 1024;

/** The reading side of a session root. */
export class JsonlReader implements Disposable {
  readonly #root: string;
  readonly #keepsSidecars: boolean;
  readonly #paths = new Map<string, LogLocation>();
  /** Bytes that are durable, of logs that a commit is on its way to, or that could not be cut back to them. */
  readonly #limits = new Map<string, number>();
  readonly #indexes = new Map<string, LogIndex>();
  #closed = false;

  /** @param keepsSidecars whether indexes may be kept in files beside the logs */
  constructor(root: string, keepsSidecars: boolean) {
    this.#root = root;
    this.#keepsSidecars = keepsSidecars;
  }

  /** Readers see a session's log only up to its present end, until {@link release}: a commit is on its way. */
  hold(id: string): void {
    if (this.#limits.has(id)) return;
    const stat = this.#stat(id);
    this.#limits.set(id, stat === undefined ? 0 : Number(stat.size));
  }

  /** Whether a commit to the log is on its way, or could not be cut off. */
  isHeld(id: string): boolean {
    return this.#limits.has(id);
  }

  /** What the log holds now is durable; the newest unit begins where the log was held. */
  release(
    id: string,
    size: number,
    records: ReadonlyArray<{ readonly seq: number; readonly count: number }>,
  ): void {
    const held = this.#limits.get(id);
    this.#limits.delete(id);
    const index = held === 0 ? this.#newIndex(id) : this.#indexes.get(id);
    const last = records.at(-1);
    if (index !== undefined && index.end === held && index.next === records[0]?.seq && last !== undefined) {
      index.add(size, last.seq + last.count);
    }
  }

  /** The commit failed. Where the log could not be cut back to what is durable, readers still see no more than that. */
  releaseFailed(id: string): void {
    const limit = this.#limits.get(id) ?? 0;
    // A new log is not looked for while it is held.
    this.#limits.delete(id);
    if (Number(this.#statIfAny(id)?.size ?? 0) > limit) this.#limits.set(id, limit);
  }

  /** Forgets what is known of a log that was cut or deleted. */
  forget(id: string): void {
    this.#paths.delete(id);
    this.#indexes.delete(id);
    this.#limits.delete(id);
  }

  /** Where the log of this session was found, if it was. */
  pathOf(id: string): string | undefined {
    return this.#paths.get(id)?.path;
  }

  readStored(id: string, fromSeq = 0): StoredSession | undefined {
    const entry = this.#find(id);
    if (entry === undefined) return undefined;
    using file = this.#open(id, entry);
    if (file === undefined) return undefined;
    const { headerText, bodyOffset } = readHead(file);
    let torn: TornTail | undefined;
    const large = new LargeLog(file);
    return {
      headerText,
      revision: file.revision,
      pages: this.#pages({
        id,
        file,
        bodyOffset,
        fromSeq,
        known: fromSeq > 0 ? this.#indexNear(id, entry, file, fromSeq) : undefined,
        onStep: (step) => {
          if (step.kind === "torn") torn = step.tail;
          else large.take(step.offset, step.records);
        },
        onEnd: (index) => this.#keep(id, index),
      }),
      torn: () => torn,
      keep: (record) => large.keep(record),
    };
  }

  readRevision(id: string): Revision | undefined {
    // Whoever makes a session asks for its revision first.
    assertShortId(id);
    if (this.#limits.get(id) === 0) return undefined;
    const stat = this.#stat(id);
    return stat === undefined ? undefined : revisionUpTo(stat, this.#limits.get(id));
  }

  async readSuffix(
    id: string,
    fromSeq: number,
    limit: number,
  ): Promise<readonly DecodedRecord[] | undefined> {
    const entry = this.#find(id);
    if (entry === undefined) return undefined;
    using file = this.#open(id, entry);
    if (file === undefined) return undefined;
    const index = this.#indexNear(id, entry, file, fromSeq);
    try {
      const { records, isStale } = await this.#readFrom(id, file, index, fromSeq, limit);
      if (!isStale) return records;
    } catch (error) {
      // A guess may have led into the middle of something.
      if (!(error instanceof CorruptError) || index?.isGuessed !== true) throw error;
    }
    // Another log lies here than the one that the index was made from.
    this.#indexes.delete(id);
    return (await this.#readFrom(id, file, undefined, fromSeq, limit)).records;
  }

  list(request: ListRequest): Page<StoredSummary> {
    this.#assertOpen();
    const { items, ...rest } = listLogs(this.#root, request, (id) => this.#limits.has(id));
    // Whoever wants revisions reads what changed: looking for each log in every project would take longer than that.
    if (request.revisions === true) {
      for (const { id, location: path, problem } of items) {
        if (path === undefined || problem !== undefined || this.#paths.has(id)) continue;
        this.#paths.set(id, { path, encoding: path.endsWith(".zstd") ? "zstd" : "none" });
      }
    }
    // A session of which the first commit is on its way is not there yet.
    return { ...rest, items: items.filter(({ id }) => this.#limits.get(id) !== 0) };
  }

  listSnapshots(request: PageRequest): Page<SnapshotSummary> {
    const { items, ...rest } = this.list(request);
    return {
      ...rest,
      items: items.flatMap(({ id, location = "" }) => {
        const stat = tryStat(location);
        return stat === undefined ? [] : [{ id, revision: revisionUpTo(stat, this.#limits.get(id)) }];
      }),
    };
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    if (!this.#keepsSidecars) return;
    for (const [id, index] of this.#indexes) {
      const path = this.#paths.get(id)?.path;
      if (path !== undefined && index.end >= LEAST_INDEXED) writeSidecar(path, index);
    }
  }

  async *#pages(reading: LogReading): AsyncGenerator<readonly DecodedRecord[]> {
    this.#assertOpen();
    yield* logPages(reading);
  }

  async #readFrom(
    id: string,
    file: LogFile,
    known: LogIndex | undefined,
    fromSeq: number,
    limit: number,
  ): Promise<{ readonly records: readonly DecodedRecord[]; readonly isStale: boolean }> {
    const index = known ?? new LogIndex(file.identity, readHead(file).bodyOffset);
    // Units behind the indexed part are taken into the index on the way.
    // Where nothing follows the indexed part, nothing there would tell whether its end is right: a point before it does.
    const isAtEnd = fromSeq >= index.next && index.end < file.size;
    const point = isAtEnd ? { offset: index.end, seq: index.next } : index.find(fromSeq);
    const { seq } = point;
    const offset = point.offset === 0 ? readHead(file).bodyOffset : point.offset;
    const records: DecodedRecord[] = [];
    if (limit <= 0) return { records, isStale: false };
    let isFirst = true;
    let breather = offset + STRETCH;
    try {
      for (const step of scanLog(file, id, { offset, next: seq })) {
        if (step.kind === "pause") {
          await breathe();
          continue;
        }
        // A point that leads nowhere looks like the beginning of a torn tail.
        if (isFirst && known !== undefined && step.kind === "torn") return { records: [], isStale: true };
        isFirst = false;
        if (step.kind === "records" && step.offset === index.end) addStep(index, step);
        for (const decoded of step.records) {
          if (decoded.record.seq + decoded.record.count > fromSeq && records.length < limit)
            records.push(decoded);
        }
        if (records.length >= limit) break;
        if (step.kind === "records" && step.end >= breather) {
          breather = step.end + STRETCH;
          await breathe();
        }
      }
    } catch (error) {
      if (known !== undefined && isFirst) return { records: [], isStale: true };
      throw error;
    }
    // Not one unit at the point: nothing there says that it is right.
    if (known !== undefined && isFirst && offset > 0 && index.next > 0) return { records: [], isStale: true };
    this.#keep(id, index);
    return { records, isStale: false };
  }

  /** What is known of the log, and a place near the event where that is little and the log is long. */
  #indexNear(id: string, entry: LogLocation, file: LogFile, seq: number): LogIndex | undefined {
    const known = this.#fittingIndex(id, entry, file);
    if (seq <= 0 || (known === undefined && file.size < LEAST_INDEXED)) return known;
    const index = known ?? new LogIndex(file.identity, readHead(file).bodyOffset);
    lookNear(file, index, seq);
    return known ?? (index.isGuessed ? index : undefined);
  }

  #fittingIndex(id: string, { path }: LogLocation, { identity, size }: LogFile): LogIndex | undefined {
    const known = this.#indexes.get(id) ?? readSidecar(path, identity, size);
    const fits = known !== undefined && isSameFile(known.identity, identity) && known.end <= size;
    return fits ? known : undefined;
  }

  #keep(id: string, index: LogIndex): void {
    this.#indexes.delete(id);
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size < MAX_INDEXES) break;
      this.#indexes.delete(oldest);
    }
    this.#indexes.set(id, index);
  }

  /** The index of a log that was just made. Its first point is the file's start: the header is skipped when it is used. */
  #newIndex(id: string): LogIndex | undefined {
    const stat = this.#statIfAny(id);
    if (stat === undefined) return undefined;
    const index = new LogIndex(identityOf(stat), 0);
    this.#keep(id, index);
    return index;
  }

  #find(id: string): LogLocation | undefined {
    this.#assertOpen();
    if (this.#limits.get(id) === 0) return undefined;
    const known = this.#paths.get(id);
    if (known !== undefined) return known;
    const entry = findLog(this.#root, id);
    if (entry !== undefined) this.#paths.set(id, entry);
    return entry;
  }

  #open(id: string, entry: LogLocation): LogFile | undefined {
    try {
      return new LogFile(entry, this.#limits.get(id));
    } catch (error) {
      this.#paths.delete(id);
      if (errorCode(error) !== "ENOENT") {
        throw toStorageError(error, "The log could not be opened", { path: entry.path, sessionId: id });
      }
      const moved = this.#find(id);
      if (moved === undefined) return undefined;
      try {
        return new LogFile(moved, this.#limits.get(id));
      } catch (again) {
        throw toStorageError(again, "The log could not be opened", { path: moved.path, sessionId: id });
      }
    }
  }

  /** After a commit, which is what it is whatever else lies in the root by now. */
  #statIfAny(id: string): BigIntStats | undefined {
    try {
      return this.#stat(id);
    } catch (error) {
      if (error instanceof HoldfastError) return undefined;
      throw error;
    }
  }

  #stat(id: string): BigIntStats | undefined {
    const entry = this.#find(id);
    if (entry === undefined) return undefined;
    const stat = tryStat(entry.path);
    if (stat === undefined) this.#paths.delete(id);
    return stat;
  }

  #assertOpen(): void {
    if (this.#closed) throw new ClosedError();
  }
}

/** Nothing where there is no file, or none that can be reached. */
function tryStat(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // a link to itself, or no rights
  }
}
