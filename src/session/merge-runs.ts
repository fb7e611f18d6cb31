import type { DecodedRecord, SessionRecord } from "./records.ts";
import {
  type DeltaRun,
  deltaEvent,
  encodeRun,
  exactDelta,
  lastTime,
  MAX_RUN,
  MIN_RUN,
  RUN_TYPE_OF,
  sameRun,
} from "./runs.ts";

/** Most text of the deltas of one merged run, in UTF-16 units: one event of a run costs the parsing of all of it. */
const MAX_TEXT = 64 * 1024;
const CHUNK = "assistant/chunk";

/** A run, or a delta that stands alone, whose text is just what would be written of its events. */
interface Part {
  readonly run: DeltaRun;
  readonly record: SessionRecord;
}

/**
 * Merges packed runs, and deltas that stand alone, which follow each other in a log: they were packed within the commit
 * that wrote them, and many are short. The events stay the same to the byte; so does every record of another kind, and
 * every run that is written in another form than this program's. What was merged once is not merged further.
 */
export class RunMerger {
  #parts: Part[] = [];
  #count = 0;
  #length = 0;

  /** Takes the record that comes next in the log. Returns those that are done, in order. */
  take(decoded: DecodedRecord): readonly SessionRecord[] {
    const { record } = decoded;
    const run = ownRun(decoded);
    if (run === undefined) return [...this.end(), record];
    const done = this.#fits(run) ? [] : this.end();
    this.#parts.push({ run, record });
    this.#count += record.count;
    this.#length += textLength(run);
    return done;
  }

  /** The records that are still kept back. */
  end(): readonly SessionRecord[] {
    const parts = this.#parts;
    const [first] = parts;
    const isMerged = parts.length > 1 && this.#count >= MIN_RUN;
    this.#parts = [];
    this.#count = 0;
    this.#length = 0;
    return isMerged && first !== undefined ? [merged(first.run, parts)] : parts.map(({ record }) => record);
  }

  #fits(run: DeltaRun): boolean {
    const last = this.#parts.at(-1);
    if (last === undefined || last.record.seq + last.record.count !== run.seq0) return false;
    if (this.#count + run.texts.length > MAX_RUN || this.#length + textLength(run) > MAX_TEXT) return false;
    return sameRun(last.run, run);
  }
}

/** The same of runs that are merged as of them apart, so that a second merging changes nothing. */
function textLength({ texts }: DeltaRun): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/** The deltas of a record, where its text is the one that they would be written as. */
function ownRun({ record, run }: DecodedRecord): DeltaRun | undefined {
  if (run !== undefined) return encodeRun(run) === record.text ? run : undefined;
  if (record.type !== CHUNK) return undefined;
  const { data }: { readonly data?: unknown } = JSON.parse(record.text);
  const delta = exactDelta(data);
  const { seq, time, text } = record;
  if (delta === undefined || JSON.stringify(deltaEvent(delta, seq, time)) !== text) return undefined;
  return { ...delta, seq0: seq, time0: time, dt: [], texts: [delta.text] };
}

function merged(first: DeltaRun, parts: readonly Part[]): SessionRecord {
  const dt: number[] = [];
  const texts: string[] = [];
  let before: number | undefined;
  for (const { run } of parts) {
    if (before !== undefined) dt.push(run.time0 - before);
    dt.push(...run.dt);
    texts.push(...run.texts);
    before = lastTime(run);
  }
  const text = encodeRun({ ...first, dt, texts });
  return { seq: first.seq0, count: texts.length, type: RUN_TYPE_OF[first.kind], time: first.time0, text };
}
