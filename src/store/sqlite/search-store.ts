import type { Database } from "bun:sqlite";
import { type DecodedRecord, decodeRecord } from "../../session/records.ts";
import { skimRecord } from "../../session/search/skim.ts";
import type { StoredSummary } from "../backend.ts";
import { decodeOwnHeader } from "../cold-read.ts";
import { type HoldfastError, LockedError, NotFoundError, StorageFailedError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import { newestFirst } from "../search/newest-first.ts";
import type { OpenSearchOptions } from "../search/open-search.ts";
import { INDEX_LIMITS, type IndexedRange, type IndexLimits, RangeBuilder } from "../search/range-builder.ts";
import type { SearchedSession, SearchedStore, Stretch } from "../search/searched-store.ts";
import { TermSet } from "../search/terms.ts";
import { isHeldHere } from "../writer-lock.ts";
import { sessionKey } from "./keys.ts";
import { QuietAccess } from "./quiet-access.ts";
import { SqliteReader } from "./reader.ts";
import { withoutBeginning } from "./record-table.ts";
import { SearchBacklog } from "./search-backlog.ts";
import { checksumAt, rangeKey, rangesOf, rangesWithout, type StoredRange } from "./search-ranges.ts";
import { searchTables } from "./search-tables.ts";
import selectSession from "./sql/select-session.sql" with { type: "text" };

const PAGE = 1_000;

/** A database, of which the parts are left out that hold no hit by its index. */
export class SqliteSearch implements SearchedStore {
  readonly #path: string;
  readonly #limits: IndexLimits;
  readonly #terms = new TermSet();
  readonly #backlog: SearchBacklog | undefined;
  /** See {@link rangesWithout}; nothing where no range is passed over. */
  readonly #passed: ReadonlySet<string> | undefined;
  #view: View;

  /** @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, StorageFailedError */
  constructor(path: string, { needle, isIndexed, limits = INDEX_LIMITS }: OpenSearchOptions) {
    this.#path = resolveStorePath(path);
    this.#limits = limits;
    if (isHeldHere(this.#path)) {
      throw new StorageFailedError("This process has the store open for writing", {
        place: { path: this.#path },
        hint: "Close it first: reading its files in any other way would free its locks.",
      });
    }
    this.#view = new View(this.#path);
    this.#backlog = isIndexed ? new SearchBacklog(this.#path, limits) : undefined;
    this.#passed = isIndexed && needle !== undefined ? this.#view.rangesWithout(needle) : undefined;
  }

  sessions(): SearchedSession[] {
    return newestFirst(this.#summaries());
  }

  async *stretches(id: string): AsyncGenerator<Stretch> {
    await this.#catchUp();
    const [session, ranges] = this.#view.rangesOf(id, this.#backlog !== undefined);
    const indexed = ranges.at(-1)?.next ?? 0;
    if (this.#passed !== undefined && session !== undefined) {
      for (const range of ranges) {
        // One that another search has added meanwhile is not among them, and is read.
        if (this.#passed.has(rangeKey(session, range))) continue;
        const { first, next } = range;
        yield { from: first, to: next, pages: this.#pages(id, first, next) };
      }
    }
    const from = this.#passed === undefined ? 0 : indexed;
    const pages = this.#pages(id, from);
    if (this.#backlog === undefined || session === undefined) {
      yield { from, pages };
      return;
    }
    const builder = new RangeBuilder(indexed, this.#terms, this.#limits);
    const put = (range: IndexedRange | undefined) => this.#put(session, range);
    try {
      yield {
        from,
        pages,
        onRecord: (record, said, isOutside) => {
          if (record.seq >= indexed) put(builder.take(record, said, isOutside));
        },
      };
      put(builder.finish());
    } finally {
      this.#terms.take();
    }
  }

  async finish(): Promise<HoldfastError | undefined> {
    this.#backlog?.end();
    await this.#catchUp();
    const error = this.#backlog?.error;
    // Whoever writes the store is not in the way: what is not indexed is read.
    return error instanceof LockedError ? undefined : error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#view[Symbol.dispose]();
  }

  *#summaries(): Generator<readonly StoredSummary[]> {
    let cursor: string | undefined;
    do {
      const page = this.#view.reader.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      yield page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  /** The records of a session from seq `from` to seq `to`, exclusive. */
  async *#pages(
    id: string,
    from: number,
    to = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<readonly DecodedRecord[]> {
    let next = from;
    for (let view: View | undefined; view !== this.#view; ) {
      view = this.#view;
      const stored = view.reader.readStored(id, next, skimRecord);
      if (stored === undefined) throw new NotFoundError(id);
      decodeOwnHeader(id, stored.headerText);
      for await (const page of stored.pages) {
        const wanted = page
          .flatMap((decoded) => behind(decoded, next))
          .filter(({ record }) => record.seq < to);
        if (wanted.length > 0) yield wanted;
        const last = page.at(-1)?.record;
        next = last === undefined ? next : Math.max(next, last.seq + last.count);
        if (next >= to) return;
        await this.#catchUp();
        if (view !== this.#view) break;
      }
    }
  }

  #put(session: number, range: IndexedRange | undefined): void {
    const checksum = range === undefined ? undefined : this.#view.checksumAt(session, range.next - 1);
    if (range !== undefined && checksum !== undefined) this.#backlog?.put({ ...range, session, checksum });
  }

  /** Writes what is due. The store is opened anew then: no connection may be open meanwhile. */
  async #catchUp(): Promise<void> {
    if (this.#backlog?.isDue !== true) return;
    this.#view[Symbol.dispose]();
    try {
      await this.#backlog.write();
    } finally {
      this.#view = new View(this.#path);
    }
  }
}

/** A record without what is before seq `from`: a run of deltas may begin there, where the session was compacted meanwhile. */
function behind(decoded: DecodedRecord, from: number): DecodedRecord[] {
  const { seq, count, text } = decoded.record;
  if (seq >= from) return [decoded];
  if (seq + count <= from) return [];
  return [withoutBeginning({ decoded: decodeRecord(text, {}), checksum: 0 }, from).decoded];
}

/** The store as it is read, and its index. */
class View implements Disposable {
  readonly reader: SqliteReader;
  readonly #access: QuietAccess;
  readonly #hasIndex: boolean;

  constructor(path: string) {
    this.#access = new QuietAccess(path);
    this.reader = new SqliteReader(path, () => this.#access);
    this.#hasIndex = this.#tryRead(searchTables) === "ours";
  }

  /** See {@link rangesWithout}. Nothing where there is no index. */
  rangesWithout(text: string): ReadonlySet<string> | undefined {
    return this.#hasIndex ? this.#tryRead((database) => rangesWithout(database, text)) : undefined;
  }

  /** Number of a session, and what is indexed of it. What cannot be read is left to the reader, who says why. */
  rangesOf(id: string, isWanted: boolean): readonly [number | undefined, readonly StoredRange[]] {
    const found = this.#tryRead((database) => {
      using statement = database.prepare<{ readonly number: number }, [{ key: string }]>(selectSession);
      const session = statement.get({ key: sessionKey(id) })?.number;
      const isRead = isWanted && this.#hasIndex && session !== undefined;
      return [session, isRead ? rangesOf(database, session) : []] as const;
    });
    return found ?? [undefined, []];
  }

  checksumAt(session: number, seq: number): number | undefined {
    return this.#tryRead((database) => checksumAt(database, session, seq));
  }

  [Symbol.dispose](): void {
    this.reader[Symbol.dispose]();
  }

  /** Nothing hangs on the index: where it is damaged, all is read. */
  #tryRead<T>(task: (database: Database) => T): T | undefined {
    try {
      return this.#access.read(task);
    } catch {
      return undefined;
    }
  }
}
