import { type BigIntStats, statSync } from "node:fs";
import type { DecodedRecord } from "../../session/records.ts";
import type {
  ListRequest,
  MarkRequest,
  Page,
  PageRequest,
  Revision,
  SnapshotSummary,
  StoredSession,
  StoredSummary,
} from "../backend.ts";
import { ClosedError, errorCode, HoldfastError, SessionGoneError, toStorageError } from "../errors.ts";
import { findLog } from "./directory.ts";
import { readHead } from "./head.ts";
import { LargeLog } from "./large-log.ts";
import { assertShortId } from "./layout.ts";
import { listLogs } from "./listing.ts";
import { identityOf, LogFile, type LogLocation, toLogError } from "./log-file.ts";
import { LogIndex } from "./log-index.ts";
import { LogIndexes } from "./log-indexes.ts";
import { readMarked } from "./mark.ts";
import { type LogReading, logPages } from "./pages.ts";
import { revisionUpTo } from "./revision.ts";
import { readSuffixOf } from "./suffix.ts";
import type { TornTail } from "./torn-tail.ts";

/** The reading side of a session root. */
export class JsonlReader implements Disposable {
  readonly #root: string;
  readonly #keepsSidecars: boolean;
  readonly #paths = new Map<string, LogLocation>();
  /** Bytes that are durable, of logs that a commit is on its way to, or that could not be cut back to them. */
  readonly #limits = new Map<string, number>();
  readonly #indexes = new LogIndexes();
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
    this.#indexes.forget(id);
    this.#limits.delete(id);
  }

  /** Where the log of this session was found, if it was. */
  pathOf(id: string): string | undefined {
    return this.#paths.get(id)?.path;
  }

  readStored(id: string, fromSeq = 0, marks?: MarkRequest): StoredSession | undefined {
    const entry = this.#find(id);
    if (entry === undefined) return undefined;
    using file = this.#open(id, entry);
    if (file === undefined) return undefined;
    const { headerText, bodyOffset } = readHead(file);
    let torn: TornTail | undefined;
    const large = new LargeLog(file);
    const marked = marks === undefined ? undefined : readMarked(file, marks);
    const start = marked?.start;
    return {
      headerText,
      revision: file.revision,
      pages: this.#pages({
        id,
        file,
        bodyOffset,
        fromSeq: start?.next ?? fromSeq,
        known: fromSeq > 0 ? this.#indexes.near(id, entry, file, fromSeq) : undefined,
        start,
        onStep: (step) => {
          if (step.kind === "torn") torn = step.tail;
          else large.take(step.offset, step.records);
        },
        onEnd: (index) => this.#indexes.keep(id, index),
      }),
      torn: () => torn,
      keep: (record) => large.keep(record),
      ...marked?.session,
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
    if (limit <= 0) return [];
    const known = this.#indexes.near(id, entry, file, fromSeq);
    const { records, index } = await readSuffixOf(id, file, { fromSeq, limit, known });
    this.#indexes.keep(id, index);
    return records;
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
    if (this.#keepsSidecars) this.#indexes.save((id) => this.pathOf(id));
  }

  async *#pages(reading: LogReading): AsyncGenerator<readonly DecodedRecord[]> {
    this.#assertOpen();
    yield* logPages(reading);
  }

  /** The index of a log that was just made. Its first point is the file's start: the header is skipped when it is used. */
  #newIndex(id: string): LogIndex | undefined {
    const stat = this.#statIfAny(id);
    if (stat === undefined) return undefined;
    const index = new LogIndex(identityOf(stat), 0);
    this.#indexes.keep(id, index);
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
        this.#paths.delete(id);
        const failure = toLogError(again, "The log could not be opened", moved.path, id);
        // Nothing was read of it.
        if (failure instanceof SessionGoneError) return undefined;
        throw failure;
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
