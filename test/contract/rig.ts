import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import type { EventDraft } from "../../src/session/events.ts";
import { type SessionHeader, serialiseHeader } from "../../src/session/header.ts";
import { decodeRecord } from "../../src/session/records.ts";
import type { Session } from "../../src/session/session.ts";
import type { StorageBackend } from "../../src/store/backend.ts";
import type { CoordinatorOptions } from "../../src/store/coordinator.ts";
import type { Preparation, SessionPersistence } from "../../src/store/persistence.ts";
import type { FaultyBackend } from "../fixtures/faults.ts";
import { ManualSchedule } from "./manual-schedule.ts";
import { quiet } from "./quiet.ts";
import { RigFaults } from "./rig-faults.ts";

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

/**
 * Leaves the end of a stored session as a crash in the middle of its last commit would: there, and never fully written.
 * The store at `place` is closed meanwhile.
 */
export type Tear = (place: string, id: string) => void | Promise<void>;

/** What a group of cases may need of a backend. */
export type Need = "crossProcessLock" | "faults" | "tear";

/** What the contract is run on. */
export interface Subject {
  readonly factory: PersistenceFactory;
  readonly capabilities: Capabilities;
  readonly tear?: Tear | undefined;
}

export type RigSettings = Partial<Pick<CoordinatorOptions, "chunkWindowMs" | "maxEvents" | "maxBytes">>;

/** A folder in memory where there is one: hundreds of stores are opened, and no case is about the disk. */
const MEMORY = "/dev/shm";
/** Folders between the root of a rig and its place, so that there is something that a bad id could escape to. */
const WITHIN = ["outer", "inner", "place"] as const;

/** One store under test, in a folder of its own. Disposing closes the store and removes the folder. */
export class Rig implements AsyncDisposable {
  readonly capabilities: Capabilities;
  readonly place: string;
  readonly time = new ManualSchedule();
  readonly #subject: Subject;
  readonly #root: string;
  readonly #settings: RigSettings;
  readonly #reopened: () => void;
  #sessions: Session[] = [];
  #store: SessionPersistence | undefined;
  #faults: RigFaults | undefined;
  #now = 1_700_000_000_000;

  private constructor(subject: Subject, root: string, settings: RigSettings, reopened: () => void) {
    this.capabilities = subject.capabilities;
    this.place = join(root, ...WITHIN);
    this.#subject = subject;
    this.#root = root;
    this.#settings = settings;
    this.#reopened = reopened;
  }

  /** `reopened` is called whenever the place is opened again. */
  static async open(
    subject: Subject,
    { reopened, ...settings }: RigSettings & { readonly reopened: () => void },
  ): Promise<Rig> {
    const root = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "holdfast-contract-"));
    const rig = new Rig(subject, root, settings, reopened);
    try {
      await mkdir(rig.place, { recursive: true });
      rig.#store = await rig.#open();
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
    this.#reopened();
    return this.#open();
  }

  async #open(): Promise<SessionPersistence> {
    const store = await this.#subject.factory({
      place: this.place,
      clock: () => this.#now++,
      chunkWindowMs: 0,
      schedule: this.time.schedule,
      ...this.#settings,
      decorate: (backend) => {
        this.#faults = new RigFaults(backend);
        return this.#faults;
      },
    });
    return quiet(store);
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

  /** A restart after a crash that left the end of this session torn. */
  async restartTorn(id: string): Promise<void> {
    for (const session of this.#sessions.splice(0)) await session[Symbol.asyncDispose]();
    await this.store.close();
    await this.#subject.tear?.(this.place, id);
    this.#store = await this.openAgain();
  }

  /** What lies on the way to the place, and shall not. */
  async strays(): Promise<string[]> {
    const names = await readdir(this.#root, { recursive: true });
    const way = WITHIN.map((_, k) => join(...WITHIN.slice(0, k + 1)));
    const inside = `${join(...WITHIN)}${sep}`;
    return names.filter((name) => !way.includes(name) && !name.startsWith(inside));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#faults?.releaseAll();
      await this.#store?.close();
    } finally {
      await rm(this.#root, { recursive: true, force: true });
    }
  }

  #keep(session: Session): Session {
    this.#sessions.push(session);
    return session;
  }
}

export function headerOf(id: string, more: Partial<SessionHeader> = {}): SessionHeader {
  return { version: 0, id, createdAt: 1_700_000_000_000, delegationDepth: 0, ...more };
}
