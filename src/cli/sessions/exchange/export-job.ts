import type { SessionPersistence, SessionStream } from "../../../store/persistence.ts";
import { isGone } from "../gone.ts";
import type { ExportReport } from "./export-report.ts";
import { type Survey, surveySession } from "./survey.ts";
import { type Writing, writeSession } from "./write-session.ts";

/** Secrets that are kept from the survey of a session until it is written, in bytes: a store may have many sessions. */
const MOST_KEPT = 64 * 1024 * 1024;

export interface JobOptions extends Omit<Writing, "onEvents"> {
  readonly report: ExportReport;
  /** Whether it is one session that was asked for by itself: of a damaged one what precedes the damage is written. */
  readonly isAlone: boolean;
  /** Whether it is all sessions, of which one that is deleted meanwhile is none. */
  readonly isAll: boolean;
  /** Told what is done now; nothing when text is to follow. May throw, to end it. */
  readonly onEvents: (what: string | undefined) => void;
  /** Whether what is written shows by itself how far it is. */
  readonly isQuiet: boolean;
}

/**
 * Writes sessions one behind the other. Each one is read twice where something must be known of all of it before: what is
 * to be masked, its title, and whether it is sound.
 */
export class ExportJob {
  readonly #store: SessionPersistence;
  readonly #ids: readonly string[];
  readonly #options: JobOptions;
  readonly #surveys = new Map<string, Survey>();
  #kept = 0;

  constructor(store: SessionPersistence, ids: readonly string[], options: JobOptions) {
    this.#store = store;
    this.#ids = ids;
    this.#options = options;
  }

  /** @throws what ends all of it: damage of a session that was asked for alone, and what keeps from writing */
  async write(): Promise<void> {
    const { format, sink, onEvents } = this.#options;
    let ids = this.#ids;
    if (format.needsFacts) {
      for (const [k, id] of ids.entries()) {
        const survey = await this.#survey(k, id);
        if (survey !== undefined) this.#keep(id, survey);
      }
      ids = ids.filter((id) => this.#surveys.has(id));
    }
    onEvents(undefined);
    await sink.write(format.begin([...this.#surveys.values()]));
    for (const [k, id] of ids.entries()) await this.#writeOne(k, id);
    onEvents(undefined);
    await sink.write(format.end());
  }

  /** Whether each session is read to its end before it is written. */
  get #isSurveyed(): boolean {
    const { format, redactor, isAlone } = this.#options;
    return format.needsFacts || redactor !== undefined || !isAlone;
  }

  /** Reads a session to its end. Nothing where it is not to be written; why not is noted. */
  async #survey(k: number, id: string): Promise<Survey | undefined> {
    const { redactor, report, isAlone } = this.#options;
    try {
      const survey = await surveySession(this.#store, id, redactor, this.#tell(k, id, false));
      if (survey.damage !== undefined && !isAlone) throw survey.damage;
      if (survey.secrets?.isFull === true && !report.crowded.includes(id)) report.crowded.push(id);
      return survey;
    } catch (error) {
      if (isAlone) throw error;
      this.#leaveOut(id, error);
      return undefined;
    }
  }

  #leaveOut(id: string, error: unknown): void {
    const { report, isAll } = this.#options;
    if (isAll && isGone(error)) report.gone += 1;
    else report.leaveOut(id, error);
  }

  /** The session from its beginning on. Nothing where it has gone since it was surveyed, and is one of several. */
  async #open(id: string): Promise<SessionStream | undefined> {
    try {
      return await this.#store.stream(id);
    } catch (error) {
      if (this.#options.isAlone || !isGone(error)) throw error;
      this.#leaveOut(id, error);
      return undefined;
    }
  }

  /** Keeps what was read of a session until it is written; its secrets where there is room, or they are read once more. */
  #keep(id: string, { secrets, ...facts }: Survey): void {
    const isKept = secrets !== undefined && this.#kept + secrets.size <= MOST_KEPT;
    this.#surveys.set(id, isKept ? { ...facts, secrets } : facts);
    if (isKept) this.#kept += secrets.size;
  }

  async #writeOne(k: number, id: string): Promise<void> {
    const { redactor, report } = this.#options;
    let survey = this.#surveys.get(id);
    if (
      this.#isSurveyed &&
      (survey === undefined || (redactor !== undefined && survey.secrets === undefined))
    ) {
      survey = await this.#survey(k, id);
      if (survey === undefined) return;
    }
    const onEvents = this.#tell(k, id, true);
    const stream = await this.#open(id);
    if (stream === undefined) return;
    report.sessions.push(await writeSession(stream, survey, { ...this.#options, onEvents }));
  }

  #tell(k: number, id: string, isWriting: boolean): (events: number) => void {
    const { isQuiet, onEvents } = this.#options;
    const place = `${k + 1} of ${this.#ids.length}: ${id}`;
    return (events) =>
      onEvents(isQuiet && isWriting ? undefined : `${place}, ${events} events${isWriting ? "" : " read"}`);
  }
}
