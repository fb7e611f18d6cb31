import type { Place } from "../session/errors.ts";
import type { SessionHeader } from "../session/header.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import type { Finding } from "./finding.ts";

/*
 * How a store is read by those who look for damage: past it. An ordinary reader stops at the first damage, so that
 * nothing is skipped in silence; an examiner says what is damaged and where, and goes on behind it.
 */

/**
 * Records that are sound in themselves, in the order in which they lie in storage. What seqs they have is another matter.
 * None at all where a long stretch yields nothing, so that whoever reads on may stop there.
 */
export interface ExaminedRecords {
  readonly kind: "records";
  readonly records: readonly DecodedRecord[];
  /** Where the k-th of them lies: file, byte offset of its frame or line, number of its frame or row, session, seq. */
  placeOf(k: number): Place;
}

/** A stretch of storage that yields no record. */
export interface ExaminedDamage {
  readonly kind: "damage";
  readonly finding: Finding;
  /** What is left of a record whose texts stand in others that are lost: with empty texts in their place. */
  readonly part?: SessionRecord;
}

export type Examined = ExaminedRecords | ExaminedDamage;

/** One session, as far as it can be read. */
export interface ExaminedSession {
  /** From its header; from its place where the header does not tell. */
  readonly id: string;
  /** The session's file, or that of its store. */
  readonly location: string;
  /** As stored; absent where nothing of it can be read. */
  readonly headerText?: string;
  /** Absent where `headerText` is no header of version 0. */
  readonly header?: SessionHeader;
  /** What is wrong with the header and with the place of the session. */
  readonly findings: readonly Finding[];
  /**
   * Everything stored, in stored order and in bounded memory. Never throws at damage, nor at what may not be read.
   * A torn tail is the last item: damage with the code `torn-tail`, after the records that its beginning still yields.
   */
  items(): AsyncIterable<Examined>;
}

/** A store, or one file of it, opened for a check. Takes no lock, and changes no byte and no timestamp. */
export interface StoreExaminer extends AsyncDisposable {
  /** What concerns the store as a whole, and what belongs to no session. */
  checkStore(): AsyncIterable<Finding>;
  /**
   * The sessions, also the broken ones; two of one id where two files claim it.
   * @param ids only these; one that is not there is left out
   */
  sessions(ids?: readonly string[]): AsyncIterable<ExaminedSession>;
}
