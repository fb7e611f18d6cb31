import { SessionProjections } from "../session/projections/index.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { NotFoundError } from "./errors.ts";
import type { SessionSnapshot } from "./persistence.ts";
import type { SessionEntry } from "./session-entry.ts";

/** Entries kept for sessions that are appended to by id without being open. */
const MAX_IDLE_ENTRIES = 256;

/** The entries of a store: at most one of a session takes its appends. */
export class SessionEntries {
  readonly #queue: CommitQueue;
  /** Sessions that are open in this process: created, prepared or published. */
  readonly #open = new Map<string, SessionEntry>();
  readonly #idle = new Map<string, SessionEntry>();

  constructor(queue: CommitQueue) {
    this.#queue = queue;
  }

  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  /** The entry that takes appends to this session now. */
  current(id: string): SessionEntry | undefined {
    const entry = this.#open.get(id) ?? this.#idle.get(id);
    return entry?.closed === true ? undefined : entry;
  }

  /** From now on this entry is that of the open session. */
  open(id: string, entry: SessionEntry): void {
    this.#idle.delete(id);
    this.#open.set(id, entry);
  }

  /** The session is no longer open once what is on its way has its answer. */
  async leave(id: string, entry: SessionEntry): Promise<void> {
    if (entry.busy) await this.#queue.drain();
    if (this.#open.get(id) === entry) this.#open.delete(id);
  }

  /** Keeps the entry of a session that is appended to by id. */
  keepIdle(id: string, entry: SessionEntry): void {
    for (const [key, idle] of this.#idle) {
      if (this.#idle.size < MAX_IDLE_ENTRIES) break;
      if (!idle.busy) this.#idle.delete(key);
    }
    this.#idle.set(id, entry);
  }

  /** Forgets the entry of appends by id and lets those on their way finish: what follows reads the store. */
  async settleIdle(id: string): Promise<void> {
    const entry = this.#idle.get(id);
    this.#idle.delete(id);
    if (entry?.busy === true) await this.#queue.drain();
  }

  /** The session as it is in memory, if it is open. @throws NotFoundError where nothing of it is stored yet */
  snapshot(id: string): SessionSnapshot | undefined {
    const entry = this.#open.get(id);
    const log = entry?.log;
    if (entry === undefined || log === undefined) return undefined;
    if (entry.revision === undefined) throw new NotFoundError(id);
    const view = log.snapshot();
    const projections = new SessionProjections().catchUp(view);
    return {
      header: log.header,
      log: view,
      projections,
      closers: [],
      revision: entry.revision,
      torn: false,
      unknownTypes: [],
    };
  }

  clear(): void {
    this.#open.clear();
    this.#idle.clear();
  }
}
