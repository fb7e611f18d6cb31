import type { HoldfastError } from "./errors.ts";

/*
 * How closed sessions are made small: the records of many commits, stored together. Events, their order and their digest
 * stay what they are (docs/format.md, "The digest of a log"); only how they lie in storage changes. Killed at any moment,
 * a session is there once and whole, as it was or as it is to be.
 */

/** A session that was made small, or large again. Of a dry run: that would be. */
export interface CompactedSession {
  readonly id: string;
  readonly state: "compacted" | "expanded";
  /** Bytes that the session takes in the store, before and after: of its file, or of its rows. */
  readonly before: number;
  readonly after: number;
  readonly events: number;
  /** The digest of its log, read back from what was written and the same as before. */
  readonly digest: string;
}

/**
 * A session that is as small as it gets, or of `expand` in the form in which appends leave it. Nothing was written, and
 * what is compacted already was not read again: damage in it is for `verify` to find.
 */
export interface UnchangedSession {
  readonly id: string;
  readonly state: "unchanged";
  /** Bytes that the session takes in the store. */
  readonly before: number;
  readonly after: number;
}

/** A session that was left as it is, since it cannot be read whole, or is written in a way that is not to be touched. */
export interface RefusedSession {
  readonly id: string;
  readonly state: "refused";
  /** Why, where, and what to do about it. */
  readonly error: HoldfastError;
}

export type CompactionResult = CompactedSession | UnchangedSession | RefusedSession;

/** What the whole store takes on the disk, in bytes. */
export interface StoreSizes {
  readonly before: number;
  /** Of a dry run: an estimate. */
  readonly after: number;
}

export interface CompactOptions {
  /** Told now and then how far the session is, as a share from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Ends the work on a session early: it throws the reason of the signal, and the session is as it was. */
  readonly signal?: AbortSignal;
}

export interface OpenCompactorOptions {
  /**
   * Whether only to say what would be done: then no lock is taken, not one byte or time of the store changes, and
   * another process may write it meanwhile. Else the lock is held until the compactor is disposed.
   */
  readonly dryRun: boolean;
}

/** A store that is open for making its sessions small. */
export interface StoreCompactor extends AsyncDisposable {
  /**
   * Makes one session small, in bounded memory, and reads it back before it counts. Durable when it resolves. Done twice,
   * the second time changes nothing, and reads little.
   *
   * What is wrong with the session is in the result, as `refused`; the next one can be worked on.
   * @throws NotFoundError; StorageFullError, StorageFailedError where writing failed: the session is as it was; the
   * reason of `signal`
   */
  compact(id: string, options?: CompactOptions): Promise<CompactionResult>;
  /**
   * Takes it back: the session lies in storage as appends would leave it, readable by older programs and with plain SQL.
   * @throws as {@link compact}
   */
  expand(id: string, options?: CompactOptions): Promise<CompactionResult>;
  /**
   * Gives the disk back what is free now (a database keeps its size until then), and says what the store takes. Called
   * once, after the last session; killed before it, a store is whole and only larger than it needs to be.
   * @throws StorageFullError, StorageFailedError: the sessions are whole all the same
   */
  finish(): Promise<StoreSizes>;
}
