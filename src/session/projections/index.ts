import { isEvent, type ModelMessage, type RequestHeader, type SessionEvent } from "../events.ts";
import { freezeJson } from "../json.ts";
import type { LogView } from "../log-view.ts";
import { type DecodedRecord, recordEvents, type SessionRecord } from "../records.ts";
import { isRunType } from "../runs.ts";
import { modelMessages } from "./messages.ts";
import { OpenWork } from "./open-work.ts";
import { Surface } from "./surface.ts";
import { Transcript, type TranscriptEntry } from "./transcript.ts";
import { UsageProjection } from "./usage.ts";

/**
 * All projections of one log, folded together in one pass. Each event is folded once; packed deltas, which no
 * projection looks into, are never parsed for it.
 */
export class SessionProjections {
  #surface = new Surface();
  #openWork = new OpenWork();
  #usage = new UsageProjection();
  #transcript = new Transcript();
  #requestHeader: RequestHeader | undefined;
  #seen = 0;

  /** What the model sees. */
  get surface(): Surface {
    return this.#surface;
  }

  /** What is under way at the end of the log. */
  get openWork(): OpenWork {
    return this.#openWork;
  }

  get usage(): UsageProjection {
    return this.#usage;
  }

  /** Number of events folded so far. */
  get seen(): number {
    return this.#seen;
  }

  /** The latest request envelope. */
  get requestHeader(): RequestHeader | undefined {
    return this.#requestHeader;
  }

  /** The same state, folded on independently. Costs what the messages cost, not what the log costs. */
  clone(): SessionProjections {
    const copy = new SessionProjections();
    copy.#surface = this.#surface.clone();
    copy.#openWork = this.#openWork.clone();
    copy.#usage = this.#usage.clone();
    copy.#transcript = this.#transcript.clone();
    copy.#requestHeader = this.#requestHeader;
    copy.#seen = this.#seen;
    return copy;
  }

  /** Folds the record that comes next, as it was read. Returns why its `surfaceOp` does not fit, and then folds nothing. */
  foldDecoded({ record, event }: DecodedRecord): string | undefined {
    if (event === undefined) this.#pass(record);
    else {
      const fault = this.surface.findFault(event);
      if (fault !== undefined) return fault;
      this.#fold(event);
    }
    this.#seen = record.seq + record.count;
    return undefined;
  }

  /** Folds what the log has and this does not. Cost follows the new part only. */
  catchUp(log: LogView): this {
    for (const record of log.records(this.#seen)) {
      this.#seen = record.seq + record.count;
      if (isRunType(record.type)) this.#pass(record);
      else for (const event of recordEvents(record)) this.#fold(event);
    }
    return this;
  }

  /** The model's history up to what was folded. */
  messages(log: LogView, sessionId: string): ModelMessage[] {
    return modelMessages(log, this.surface, sessionId);
  }

  transcript(log: LogView, from = 0): Generator<TranscriptEntry> {
    return this.#transcript.entries(log, from);
  }

  #pass(record: SessionRecord): void {
    this.#openWork.pass(record);
    this.#transcript.pass(record);
  }

  #fold(event: SessionEvent): void {
    this.surface.fold(event);
    this.openWork.fold(event);
    this.usage.fold(event);
    this.#transcript.fold(event);
    if (isEvent(event, "request/header")) this.#requestHeader = freezeJson(event.data.header);
  }
}

export { LiveTranscript, type TranscriptEntry } from "./transcript.ts";
