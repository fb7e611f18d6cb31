import { mkdirSync } from "node:fs";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { checkDeeds } from "./deed-checks.ts";
import { Journal } from "./journal.ts";
import { LogModel } from "./log-model.ts";
import { need } from "./need.ts";
import { SeenEvents } from "./seen-events.ts";
import { type SessionRead, transcriptIn } from "./session-read.ts";
import { StorePlace } from "./store-place.ts";
import { readViews } from "./stored-views.ts";
import { checkViews, type SeenTranscript } from "./view-checks.ts";
import type { Workspace } from "./workspace.ts";

/** What is known of a store that was looked at while no Host had it open. */
interface Stopped {
  readonly closers: readonly object[];
  readonly torn: boolean;
  /** The log's bytes, where its end is torn. */
  readonly log: Buffer | undefined;
}

/** How the Host went that had the store last. */
export interface StoppedHost {
  /** Whether it had opened the session. */
  readonly ready: boolean;
  /** Whether it ended in order. */
  readonly ended: boolean;
  /** Form of `sessions show` to look at. */
  readonly form: "events" | "json";
}

/** One store over several Hosts: what was seen of it, and every check of it. All that is wrong is thrown as an Error. */
export class StoreLife {
  readonly place: StorePlace;
  readonly journal: Journal;
  readonly seen = new SeenEvents();
  readonly model: LogModel;
  /** How often a tail was torn when the store was looked at, and how many events were compared then. */
  torn = 0;
  compared = 0;
  #header: unknown;
  #stopped: Stopped | undefined;
  #quarantines: readonly string[] = [];
  /** Size of the log when something of it was last seen from outside. */
  #seenSize = 0;
  /** What whole reads of the Host that runs or ran last had for a transcript, with the length of their log. */
  #transcripts: SeenTranscript[] = [];

  constructor(kind: StoreKind, folder: string, workspace: Workspace, journal = new Journal()) {
    mkdirSync(folder, { recursive: true });
    this.journal = journal;
    this.place = new StorePlace(kind, folder, workspace.path);
    this.model = new LogModel(this.journal, workspace);
  }

  /** Whether the store, as it was last looked at, has a Turn to close or a torn end. */
  get needsRecovery(): boolean {
    return this.#stopped !== undefined && (this.#stopped.torn || this.#stopped.closers.length > 0);
  }

  /** Something was seen that rests on what is in the log by now. */
  markSeen(): void {
    this.#seenSize = this.place.logSize();
  }

  /** Takes what a running Host shows. */
  takeRead(read: SessionRead, known: number): void {
    this.markSeen();
    const { added, rest } = this.seen.takeList(read.region, read.whole);
    for (const text of added) this.model.take(text);
    // A session that has no event yet is not stored: the next Host makes a new one.
    if (read.nextSeq > 0) this.#checkHeader(JSON.parse(read.headerText));
    if (!read.whole) return;
    need(read.nextSeq >= known, `${known} events were seen, and now there are ${read.nextSeq}`);
    need(read.nextSeq === this.model.length, `it says ${read.nextSeq} events and shows others`);
    const transcript = transcriptIn(rest);
    if (transcript === undefined)
      throw new Error(`the answer does not end with a transcript: ${rest.slice(0, 200)}`);
    this.#transcripts = [...this.#transcripts.slice(-2), { nextSeq: read.nextSeq, text: transcript }];
  }

  /** Checks what a Host shows that has just opened the store, before anything is asked of it. */
  takeReopened(read: SessionRead): void {
    const { length } = this.model;
    const stopped = this.#stopped;
    this.#stopped = undefined;
    this.model.recovering = true;
    this.takeRead(read, length);
    if (!read.whole) return;
    this.model.recovering = false;
    need(this.model.closers().length === 0, "the last Turn is still open");
    if (stopped !== undefined) this.#assertClosed(length, stopped.closers, stopped.closers.length);
    this.#checkFiles(false);
    this.#checkQuarantines(stopped, true);
    checkDeeds(this.journal, this.model);
  }

  /** Checks the store while no Host has it open. */
  async checkStopped({ ready, ended, form }: StoppedHost): Promise<void> {
    const { length } = this.model;
    const before = this.#stopped;
    this.#stopped = undefined;
    const views = await readViews(this.place, form);
    this.model.recovering = !ready;
    const added = this.seen.takeAll(views?.fresh.texts ?? []);
    for (const text of added) this.model.take(text);
    this.model.recovering = false;
    this.compared += this.model.length;
    // A Host that was killed before it was ready has closed the Turn, or has not.
    if (before !== undefined && !ready) this.#assertClosed(length, before.closers, added.length);
    if (ended) need(this.model.closers().length === 0, "a Turn is open although the Host ended in order");
    this.#checkQuarantines(before, ready);
    if (ended) this.#checkFiles(true);
    checkDeeds(this.journal, this.model);
    if (views !== undefined) {
      checkViews(views, this.seen.texts, this.model, this.#transcripts);
      this.#checkHeader(views.fresh.header);
    }
    const torn = views?.fresh.torn === true;
    if (torn) this.torn += 1;
    this.#stopped = { closers: this.model.closers(), torn, log: torn ? this.place.readLog() : undefined };
    this.#transcripts = [];
  }

  /** A Host was killed and the next one starts at once: what lies between is not known. */
  skipStopped(): void {
    this.#stopped = undefined;
    this.#transcripts = [];
  }

  /**
   * Cuts off a part of the log that nobody has seen, as if the process had died while it wrote it.
   * @param share which part of it stays, 0 to 1. @returns whether there was something to cut
   */
  tear(share: number): boolean {
    const size = this.place.logSize();
    const cut = this.#seenSize + Math.floor((size - this.#seenSize) * share);
    if (this.#seenSize === 0 || cut >= size) return false;
    this.place.cutLog(cut);
    return true;
  }

  /** What came behind `from` is what recovery must add: all of it, or its first `count`. */
  #assertClosed(from: number, closers: readonly object[], count: number): void {
    const added = this.seen.texts.slice(from).map((text): unknown => JSON.parse(text));
    need(
      Bun.deepEquals(added, closers.slice(0, count)) && count <= closers.length,
      `recovery added ${JSON.stringify(added)} instead of ${JSON.stringify(closers)}`,
    );
  }

  #checkHeader(header: unknown): void {
    this.#header ??= header;
    need(Bun.deepEquals(header, this.#header), `the header became ${JSON.stringify(header)}`);
  }

  #checkFiles(ended: boolean): void {
    const strays = this.place.strays(ended);
    need(strays.length === 0, `there are stray files: ${strays.join(", ")}`);
  }

  /** A tail is set aside where it was torn, whole, and nowhere else. */
  #checkQuarantines(before: Stopped | undefined, isDue: boolean): void {
    const now = this.place.quarantines();
    const gone = this.#quarantines.filter((name) => !now.includes(name));
    const made = now.filter((name) => !this.#quarantines.includes(name));
    this.#quarantines = now;
    need(gone.length === 0, `${gone.join(", ")} is gone`);
    // Without a look at the store before, nobody knows whether its end was torn.
    if (before === undefined) return;
    need(made.length <= (before.torn ? 1 : 0), `${made.join(", ")} was set aside`);
    if (before.torn && isDue) need(made.length === 1, "a torn tail was not set aside");
    // A Host that was killed meanwhile may have left a part of it, and the whole tail in the log.
    if (isDue && before.log !== undefined)
      for (const name of made) this.place.checkQuarantine(name, before.log);
  }
}
