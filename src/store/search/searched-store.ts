import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import type { Said } from "../../session/search/said.ts";
import type { StoredSummary } from "../backend.ts";
import type { HoldfastError } from "../errors.ts";

/*
 * A store as it is searched: each backend says which parts of a session are to be read. Nothing else differs, so that the
 * hits are the same in all.
 */

/** A part of a session, which can be read without what precedes it. */
export interface Stretch {
  /** Seq of its first event. */
  readonly from: number;
  /** Seq after its last event; of the last stretch of a session nobody knows it. */
  readonly to?: number;
  /** @throws CorruptError after all that precedes the damage was given out */
  readonly pages: AsyncIterable<readonly DecodedRecord[]>;
  /** Told of each record, in order, what was said in it, and whether no Turn is open behind it. */
  readonly onRecord?: (record: SessionRecord, said: readonly Said[], isOutside: boolean) => void;
}

/** A session that is searched: `location` is its file, `problem` what a listing says against it. */
export type SearchedSession = Pick<StoredSummary, "id" | "location" | "problem">;

/** Takes no lock for longer than a moment, and may be used while another process writes the store. */
export interface SearchedStore extends AsyncDisposable {
  /** The sessions by the time that their headers tell, the newest first, then by id; last those that tell none. */
  sessions(): Iterable<SearchedSession>;
  /**
   * Parts of a session outside of which there is no hit, in order. Each is to be read to its end before the next.
   * @throws NotFoundError, CorruptError, UnsupportedFormatError, StorageFailedError
   */
  stretches(id: string): AsyncIterable<Stretch>;
  /** To be called when all was read. Gives back why an index could not be brought up to date, if so. */
  finish?(): Promise<HoldfastError | undefined>;
}
