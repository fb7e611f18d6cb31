import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { logPath } from "../../src/store/jsonl/layout.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";

const QUARANTINE = /\.torn-(\d+)(?:-\d+)?$/;

/** Where the store of one life lies, and what may lie there. */
export class StorePlace {
  readonly kind: StoreKind;
  /** Holds the store and nothing else. */
  readonly folder: string;
  /** Path of the database, or root of the logs. */
  readonly path: string;
  /** The log of the session, where each session has a file. */
  readonly log: string | undefined;

  constructor(kind: StoreKind, folder: string, workspace: string) {
    this.kind = kind;
    this.folder = folder;
    this.path = join(folder, kind === "sqlite" ? "agent.db" : "sessions");
    this.log = kind === "sqlite" ? undefined : logPath(this.path, { id: "default", cwd: workspace }, kind);
  }

  get name(): StoreName {
    return { kind: this.kind === "sqlite" ? "sqlite" : "jsonl", path: this.path };
  }

  /** Names of the files, relative to the folder. */
  files(): string[] {
    return readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.folder.length + 1));
  }

  /** What was set aside of torn tails. */
  quarantines(): string[] {
    return this.files().filter((name) => QUARANTINE.test(name));
  }

  /** Files that no running Host has. @param ended whether the Host ended in order, and so left only what it must */
  strays(ended: boolean): string[] {
    const log = this.log?.slice(this.folder.length + 1);
    const lasting =
      log === undefined
        ? ["agent.db", "agent.db.lock"]
        : ["sessions/.holdfast.lock", log, `${log}.holdfast-index`];
    const passing =
      log === undefined ? ["agent.db-wal", "agent.db-shm", "agent.db.owner"] : ["sessions/.holdfast.owner"];
    const allowed = new Set(ended ? lasting : [...lasting, ...passing]);
    return this.files().filter((name) => !allowed.has(name) && !QUARANTINE.test(name));
  }

  /** Bytes of the session's log; 0 where there is none. */
  logSize(): number {
    if (this.log === undefined) return 0;
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0;
  }

  readLog(): Buffer {
    return this.log === undefined ? Buffer.alloc(0) : readFileSync(this.log);
  }

  /** Rows of a database that quote deltas. Only where nobody looks at its files afterwards. */
  quotes(): number {
    if (this.kind !== "sqlite" || !existsSync(this.path)) return 0;
    using database = new Database(this.path, { readwrite: true, strict: true });
    const sql = `SELECT count(*) AS rows FROM records WHERE sources LIKE '{%"quoted"%'`;
    return database.query<{ rows: number }, []>(sql).get()?.rows ?? 0;
  }

  /** Cuts the log of a Host that is gone. */
  cutLog(size: number): void {
    if (this.log !== undefined) truncateSync(this.log, size);
  }

  /** @throws Error unless the file holds what was cut off of `before` */
  checkQuarantine(name: string, before: Buffer): void {
    const offset = Number(QUARANTINE.exec(name)?.[1]);
    const kept = readFileSync(join(this.folder, name));
    if (kept.length > 0 && kept.equals(before.subarray(offset))) return;
    throw new Error(`${name} does not hold the ${before.length - offset} bytes that were cut off`);
  }
}
