import { type DecodedRecord, recordRun, type SessionRecord } from "../session/records.ts";
import { type DeltaRun, isRunType, MEMBER_PARTS, memberPrefix } from "../session/runs.ts";
import { HashBuffer } from "./hash-buffer.ts";
import { MemberBytes } from "./member-bytes.ts";

const LINE_FEED = Buffer.from("\n");
const MEMBER_END = Buffer.from(MEMBER_PARTS.end);

/**
 * The digest of a log: SHA-256 over the JSON texts of its events, in order, joined by line feeds. An event that is
 * stored by itself counts as it is stored, one of a packed run as it would stand alone. So equal logs have the same
 * digest in every store, however their events are packed. Source: docs/format.md, "The digest of a log".
 *
 * Takes records one by one: its memory does not follow the log.
 */
export class LogDigest {
  readonly #hash = new HashBuffer();
  readonly #members = new MemberBytes();
  #events = 0;

  /** Number of events taken so far. */
  get events(): number {
    return this.#events;
  }

  /** Takes the events of a record, or of them those from seq `from` to seq `to` (exclusive). */
  add(record: SessionRecord, from = record.seq, to = record.seq + record.count): void {
    if (isRunType(record.type)) this.#addRun(recordRun(record), from, to);
    else if (from <= record.seq && record.seq < to) {
      this.#separate();
      this.#hash.text(record.text);
    }
  }

  /** Takes the events of a record as it was read, without reading it again. */
  addDecoded({ record, run }: DecodedRecord): void {
    if (run === undefined) this.add(record);
    else this.#addRun(run, record.seq, record.seq + record.count);
  }

  /** Of what was taken so far; more may be taken afterwards. */
  hex(): string {
    return this.#hash.hex();
  }

  #addRun(run: DeltaRun, from: number, to: number): void {
    const { seq0, time0, dt, texts } = run;
    const beforeText = memberPrefix(run);
    const hash = this.#hash;
    let isFirst = true;
    let time = time0;
    for (let k = 0; k < texts.length; k += 1) {
      if (k > 0) time += dt[k - 1] ?? 0;
      const seq = seq0 + k;
      if (seq < from || seq >= to) continue;
      const bytes = this.#members.before(beforeText, seq, time);
      if (isFirst) {
        this.#separate();
        hash.bytes(bytes.subarray(MEMBER_END.length + LINE_FEED.length));
        isFirst = false;
      } else {
        this.#events += 1;
        hash.bytes(bytes);
      }
      hash.json(texts[k] ?? "");
    }
    if (!isFirst) hash.bytes(MEMBER_END);
  }

  #separate(): void {
    if (this.#events > 0) this.#hash.bytes(LINE_FEED);
    this.#events += 1;
  }
}
