import type { Finding } from "./finding.ts";

/*
 * How a damaged store is made sound again: by its owner's order, never by itself, and with nothing thrown away. What is
 * sound stays where it is; what is not is set aside in a quarantine file that can be read; and before anything changes,
 * a backup lies beside it. Killed at any moment, the original or the repaired log is there whole.
 */

/** A session whose log is cut where its sound beginning ends, and closed there. */
export interface SessionRepair {
  readonly kind: "session";
  readonly id: string;
  /** The session's file, or that of its store. */
  readonly location: string;
  /** Why: the first finding that an ordinary reader would stop at. */
  readonly reason: Finding;
  /** Events that stay as they are. */
  readonly keptEvents: number;
  /** What is set aside: how many bytes of the file or rows of the table, and how many events can be read among them. */
  readonly cut: { readonly bytes: number; readonly rows: number; readonly events: number };
  /** Events that close the Turn which is open where the log is cut. */
  readonly closers: number;
  /** Whether the header is kept, or made anew from what is known. */
  readonly header: "kept" | "made";
  /** Files that are made. */
  readonly backup: string;
  readonly quarantine: string;
}

/** A session of which events are neither kept nor set aside, or may be. */
export interface LostEvents {
  readonly id: string;
  /** Events of it that are there. */
  readonly left: number;
  /** How many there were at least, where that is known and more than are left. */
  readonly had?: number;
  /** Whether events are missing. Otherwise the end of what is left may have been the end of the session. */
  readonly isCertain: boolean;
}

/** What a damaged database itself says of what is gone. */
export interface StoreLoss {
  /** Where the file is too short: how many pages the database had, and how many of them are there. */
  readonly pages?: { readonly expected: number; readonly found: number };
  readonly sessions: readonly LostEvents[];
  /** How many more sessions there were at most of which nothing is left, those that were deleted before among them. */
  readonly unnamed?: number;
}

/** A database that is written anew from all that can be read of it. */
export interface StoreRepair {
  readonly kind: "store";
  readonly location: string;
  readonly reason: Finding;
  /** Sessions and events that can be read, and are carried over. */
  readonly keptSessions: number;
  readonly keptEvents: number;
  /** Sessions without a header that may have been deleted, and are set aside: how many, and the events in them. */
  readonly leaving: { readonly sessions: number; readonly events: number };
  /** Sessions of which events are gone for good, but for what another backup has of them. */
  readonly lost: StoreLoss;
  readonly backup: string;
  /** Absent where nothing is set aside. */
  readonly quarantine?: string;
}

/** Rows of no session, which are set aside. They may be all of a session that lost its header. */
export interface ForeignRepair {
  readonly kind: "foreign";
  readonly location: string;
  readonly reason: Finding;
  readonly rows: number;
  /** Events that the rows say they hold. */
  readonly events: number;
  readonly backup: string;
  readonly quarantine: string;
}

export type RepairStep = SessionRepair | StoreRepair | ForeignRepair;

export interface RepairPlan {
  /** In the order in which they are carried out. Empty where nothing is to be done. */
  readonly steps: readonly RepairStep[];
  /** What is wrong and no repair can help: another version, two logs of one id, what may not be read, unpaired calls. */
  readonly helpless: readonly Finding[];
  /** Whether there may be more of that than is told. */
  readonly hasMoreHelpless?: boolean;
}

export interface RepairOptions {
  /** Only these sessions; all that need it when absent. One that is not there is left out. */
  readonly ids?: readonly string[];
  /** Told now and then how far the step is, as a share from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Ends the planning early: it throws the reason of the signal. A step is not left in the middle. */
  readonly signal?: AbortSignal;
}

/** A store that is open for repair. */
export interface StoreRepairer extends AsyncDisposable {
  /** What would be done. Reads only. */
  plan(options?: RepairOptions): Promise<RepairPlan>;
  /**
   * Carries out one step of a plan that this repairer made. Durable when it resolves.
   * @throws StorageFullError, StorageFailedError; then the original is there whole
   */
  carryOut(step: RepairStep, options?: Pick<RepairOptions, "onProgress">): Promise<void>;
}
