import type { SessionHeader } from "../session/header.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import { Agent, type AgentSettings } from "./agent.ts";
import { type ForkOptions, type StoredFork, storeFork } from "./forking.ts";

export interface CreateOptions {
  readonly sessionId: string;
  /** Folder that the conversation is about. */
  readonly cwd?: string;
}

export interface ResumeOptions {
  readonly resumeSessionId: string;
}

/** Makes agents on the sessions of one store. */
export class Agents {
  readonly #persistence: SessionPersistence;
  readonly #settings: AgentSettings;
  readonly #clock: () => number;

  constructor(persistence: SessionPersistence, settings: AgentSettings, clock: () => number) {
    this.#persistence = persistence;
    this.#settings = settings;
    this.#clock = clock;
  }

  /** A new conversation. It is stored with its first event. @throws AlreadyExistsError */
  async create({ sessionId, cwd }: CreateOptions): Promise<Agent> {
    const header: SessionHeader = {
      version: 0,
      id: sessionId,
      createdAt: this.#clock(),
      ...(cwd === undefined ? {} : { cwd }),
      delegationDepth: 0,
    };
    return new Agent(await this.#persistence.create(header), this.#settings, false);
  }

  /**
   * Goes on with a stored conversation, after closing a Turn that a crash interrupted.
   * @throws NotFoundError, SessionOpenError, CorruptError, UnsupportedFormatError
   */
  async resume({ resumeSessionId }: ResumeOptions): Promise<Agent> {
    await using preparation = await this.#persistence.prepare(resumeSessionId);
    const { closers, torn } = preparation;
    return new Agent(preparation.publish(), this.#settings, true, { closers: closers.length, torn });
  }

  /**
   * A new conversation that begins with a copy of another one; see {@link storeFork}.
   * @throws NotFoundError, AlreadyExistsError, ForkBoundaryError, UnsupportedFormatError, CorruptError
   */
  async fork(options: ForkOptions): Promise<Agent> {
    const { id } = (await this.storeFork(options)).header;
    await using preparation = await this.#persistence.prepare(id);
    return new Agent(preparation.publish(), this.#settings, true);
  }

  /** As {@link Agents.fork}, for those who leave the new conversation to others. */
  storeFork(options: ForkOptions): Promise<StoredFork> {
    return storeFork(this.#persistence, options, this.#clock());
  }
}
