import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventDraft } from "../../src/session/events.ts";
import { type SessionHeader, serialiseHeader } from "../../src/session/header.ts";
import { decodeRecord } from "../../src/session/records.ts";
import type { Session } from "../../src/session/session.ts";
import type { StorageBackend } from "../../src/store/backend.ts";
import type { CoordinatorOptions } from "../../src/store/coordinator.ts";
import type { Preparation, SessionPersistence } from "../../src/store/persistence.ts";
import { FaultyBackend } from "../fixtures/faults.ts";
import { ManualSchedule } from "./manual-schedule.ts";

/** What a factory opens a store with. */
export interface OpenOptions extends CoordinatorOptions {
  /** An own folder, empty at first. Opening it again after closing finds what was stored, where `durable` holds. */
  readonly place: string;
  /** Goes between the backend and what all backends share, so that cases can hold, fail and count its calls. */
  readonly decorate: (backend: StorageBackend) => StorageBackend;
}

export type PersistenceFactory = (options: OpenOptions) => Promise<SessionPersistence>;

export interface Capabilities {
  /** What was stored is there when the same place is opened again. */
  readonly durable: boolean;
  /** A second opening of the same place is refused as `locked` while the first lives. */
  readonly crossProcessLock: boolean;
  /** The factory uses `decorate`, `schedule`, `maxEvents` and `maxBytes`. Without it the cases that need them are skipped. */
  readonly faults: boolean;
}

export type RigSettings = Partial<Pick<CoordinatorOptions, "chunkWindowMs" | "maxEvents" | "maxBytes">>;

/** One store under test, in a folder of its own. Disposing closes the store and removes the folder. */
export class Rig implements AsyncDisposable {
  readonly capabilities: Capabilities;
  readonly place: string;
  readonly time = new ManualSchedule();
  readonly #factory: PersistenceFactory;
  readonly #settings: RigSettings;
  #sessions: Session[] = [];
  #store: SessionPersistence | undefined;
  #faults: FaultyBackend | undefined;
  #now = 1_700_000_000_000;

  private constructor(
    factory: PersistenceFactory,
    capabilities: Capabilities,
    settings: RigSettings,
    place: string,
  ) {
    this.capabilities = capabilities;
    this.place = place;
    this.#factory = factory;
    this.#settings = settings;
  }

  static async open(
    factory: PersistenceFactory,
    capabilities: Capabilities,
    settings: RigSettings = {},
  ): Promise<Rig> {
    const rig = new Rig(factory, capabilities, settings, await mkdtemp(join(tmpdir(), "holdfast-contract-")));
    try {
      rig.#store = await rig.openAgain();
      return rig;
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
  }

  get store(): SessionPersistence {
    if (this.#store === undefined) throw new Error("the store is not open");
    return this.#store;
  }

  get faults(): FaultyBackend {
    if (this.#faults === undefined) throw new Error("the factory did not decorate its backend");
    return this.#faults;
  }

  /** One more store on the same place; the caller closes it. */
  openAgain(): Promise<SessionPersistence> {
    return this.#factory({
      place: this.place,
      clock: () => this.#now++,
      chunkWindowMs: 0,
      schedule: this.time.schedule,
      ...this.#settings,
      decorate: (backend) => {
        this.#faults = new FaultyBackend(backend);
        return this.#faults;
      },
    });
  }

  /** A new session, closed by {@link restart}. */
  async create(id: string, more: Partial<SessionHeader> = {}): Promise<Session> {
    return this.#keep(await this.store.create(headerOf(id, more)));
  }

  /** A new session that holds these events, closed again. */
  async stored(id: string, drafts: readonly EventDraft[], more: Partial<SessionHeader> = {}): Promise<void> {
    await using session = await this.store.create(headerOf(id, more));
    await session.log.appendAll(drafts);
  }

  /** Takes a stored session up again; closed by {@link restart}. */
  async resume(id: string): Promise<Preparation> {
    const preparation = await this.store.prepare(id);
    this.#keep(preparation.session);
    return preparation;
  }

  /** Stores records as another writer left them, past all checks. The header defaults to a good one. */
  async seed(id: string, texts: readonly string[], header = serialiseHeader(headerOf(id))): Promise<void> {
    const records = texts.map((text) => decodeRecord(text, {}).record);
    const [outcome] = await this.faults.inner.appendBatch([{ id, header, expectedSeq: 0, records }]);
    if (outcome?.ok !== true) throw new Error("the records could not be seeded");
  }

  /** What an end and a new start of the process do: sessions are closed, and so is a store that outlives it. */
  async restart(): Promise<void> {
    for (const session of this.#sessions.splice(0)) await session[Symbol.asyncDispose]();
    if (!this.capabilities.durable) return;
    await this.store.close();
    this.#store = await this.openAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#store?.close();
    } finally {
      await rm(this.place, { recursive: true, force: true });
    }
  }

  #keep(session: Session): Session {
    this.#sessions.push(session);
    return session;
  }
}

export function headerOf(id: string, more: Partial<SessionHeader> = {}): SessionHeader {
  return { version: 0, id, createdAt: 1_700_000_000_000, ...more };
}
