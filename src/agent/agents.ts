import { UnsupportedFormatError } from "../session/errors.ts";
import { isEvent } from "../session/events.ts";
import type { SessionHeader } from "../session/header.ts";
import type { LogView } from "../session/log-view.ts";
import type { SessionPersistence, SessionSnapshot } from "../store/persistence.ts";
import { storeSeed } from "../store/seed.ts";
import { Agent, type AgentSettings } from "./agent.ts";
import { ForkBoundaryError } from "./errors.ts";

export interface CreateOptions {
  readonly sessionId: string;
  /** Folder that the conversation is about. */
  readonly cwd?: string;
}

export interface ResumeOptions {
  readonly resumeSessionId: string;
}

export interface ForkOptions {
  readonly sessionId: string;
  /** Id of the new session. */
  readonly newSessionId: string;
  /** Seq of the `turn/end` that the fork ends with; the last one when absent. */
  readonly boundary?: number;
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
   * A new conversation that begins with a copy of another one, up to the end of a Turn. The parent is left alone. How the
   * copy is stored: {@link storeSeed}.
   * @throws NotFoundError, AlreadyExistsError, ForkBoundaryError, UnsupportedFormatError
   */
  async fork({ sessionId, newSessionId, boundary }: ForkOptions): Promise<Agent> {
    const parent = await this.#persistence.inspect(sessionId);
    const end = findBoundary(parent.log, parent.log.length - parent.closers.length, boundary);
    if (end === undefined) throw new ForkBoundaryError(sessionId, boundary);
    assertResumable(parent, end);
    const { cwd, agentPreset } = parent.header;
    const seedLength = end + 1;
    const now = this.#clock();
    const header: SessionHeader = {
      version: 0,
      id: newSessionId,
      createdAt: now,
      ...(cwd === undefined ? {} : { cwd }),
      parentSession: sessionId,
      seedLength,
      delegationDepth: 0,
      ...(agentPreset === undefined ? {} : { agentPreset }),
    };
    // Whether the id is free, and the header one that can be stored.
    await (await this.#persistence.create(header))[Symbol.asyncDispose]();
    await storeSeed(this.#persistence, header, parent.log, seedLength, now);
    await using preparation = await this.#persistence.prepare(newSessionId);
    return new Agent(preparation.publish(), this.#settings, true);
  }
}

/** A fork goes on with its copy, so that what keeps a session from being resumed keeps it from being forked too. */
function assertResumable({ header, unknownTypes }: SessionSnapshot, end: number): void {
  const unknown = unknownTypes.find(({ seq }) => seq <= end);
  if (unknown === undefined) return;
  const { type, seq } = unknown;
  throw new UnsupportedFormatError(`The log holds an event of the unknown type ${JSON.stringify(type)}`, {
    place: { sessionId: header.id, seq, eventType: type },
    hint: "Fork before that event, or use the program that wrote it.",
  });
}

/** Seq of the `turn/end` to cut after, among the first `length` events. */
function findBoundary(log: LogView, length: number, boundary: number | undefined): number | undefined {
  if (boundary !== undefined) {
    const inside = Number.isSafeInteger(boundary) && boundary >= 0 && boundary < length;
    return inside && isEvent(log.at(boundary), "turn/end") ? boundary : undefined;
  }
  let last: number | undefined;
  for (const { type, seq } of log.records(0, length)) if (type === "turn/end") last = seq;
  return last;
}
