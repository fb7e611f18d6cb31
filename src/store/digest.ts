import { recordTexts, type SessionRecord } from "../session/records.ts";

/**
 * The digest of a log: SHA-256 over the JSON texts of its events, in order, joined by line feeds. An event that is
 * stored by itself counts as it is stored, one of a packed run as it would stand alone. So equal logs have the same
 * digest in every store, however their events are packed. Source: docs/format.md, "The digest of a log".
 *
 * Takes records one by one: its memory does not follow the log.
 */
export class LogDigest {
  readonly #hash = new Bun.CryptoHasher("sha256");
  #events = 0;

  /** Number of events taken so far. */
  get events(): number {
    return this.#events;
  }

  /** Takes the events of a record, or of them those from seq `from` to seq `to` (exclusive). */
  add(record: SessionRecord, from = record.seq, to = record.seq + record.count): void {
    for (const text of recordTexts(record).slice(from - record.seq, to - record.seq)) {
      this.#hash.update(this.#events === 0 ? text : `\n${text}`);
      this.#events += 1;
    }
  }

  /** Of what was taken so far; more may be taken afterwards. */
  hex(): string {
    return this.#hash.copy().digest("hex");
  }
}
