import type { SessionHeader } from "./header.ts";
import type { SessionLog } from "./log.ts";
import type { SessionProjections } from "./projections/index.ts";

/** One open conversation: its header, its log, and the projections of what is durable. */
export class Session implements AsyncDisposable {
  readonly header: SessionHeader;
  readonly log: SessionLog;
  readonly #projections: SessionProjections;
  readonly #release: () => Promise<void>;

  /** `release` ends this Session's claim on its id in the store. */
  constructor(log: SessionLog, projections: SessionProjections, release: () => Promise<void>) {
    this.header = log.header;
    this.log = log;
    this.#projections = projections;
    this.#release = release;
  }

  get id(): string {
    return this.header.id;
  }

  /** The projections, folded up to the durable end of the log. */
  get projections(): SessionProjections {
    return this.#projections.catchUp(this.log);
  }

  /** Waits for appends on their way and closes the Session; the store stays open. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#release();
  }
}
