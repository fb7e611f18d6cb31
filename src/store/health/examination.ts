import type { HealthFinding } from "./findings.ts";
import type { FileCounter, Tally } from "./kept-files.ts";

/**
 * What lies at the path of a store: one that a Host would take, nothing, a file without anything in it, or what a Host
 * would refuse for a reason that stands among the findings.
 */
export type StoreState = "store" | "absent" | "empty" | "refused";

/** What a database file and the files beside it are. Sizes in bytes. */
export interface DatabaseReport {
  readonly bytes: number;
  readonly walBytes: number;
  readonly shmBytes: number;
  readonly journalBytes: number;
  /** What the header of the file says; a Host sets WAL. Absent where it was not read. */
  readonly journalMode?: "wal" | "rollback";
  readonly pageSize?: number;
  readonly applicationId?: number;
  readonly schemaVersion?: number;
  readonly backups: Tally;
  readonly quarantine: Tally;
}

/** What lies below a root of session logs. */
export interface LogsReport {
  readonly zstd: Tally;
  readonly plain: Tally;
  /** Logs of a later format. */
  readonly later: Tally;
  /** Indexes beside the logs. */
  readonly indexes: Tally;
  readonly backups: Tally;
  readonly quarantine: Tally;
  /** Logs that were never put in their place. */
  readonly drafts: Tally;
  /** Session ids that several files claim. */
  readonly duplicates: number;
  /** Folders that this user may not look into. */
  readonly closedFolders: number;
}

/** What a backend tells of a store by looking at its files. */
export interface Examination {
  readonly state: StoreState;
  readonly findings: readonly HealthFinding[];
  /** The files of the store. */
  readonly files: FileCounter;
  /** Bytes that a copy of what a repair would back up takes. */
  readonly copyBytes: number;
  readonly database?: DatabaseReport;
  readonly logs?: LogsReport;
}
