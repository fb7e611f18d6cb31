import { EventBytes } from "../session/event-bytes.ts";
import type { SessionRecord } from "../session/records.ts";

/** Bytes are handed to the hash in pieces of this size. */
const SIZE = 64 * 1024;

/**
 * The digest of a log: SHA-256 over the JSON texts of its events, in order, joined by line feeds. An event that is
 * stored by itself counts as it is stored, one of a packed run as it would stand alone. So equal logs have the same
 * digest in every store, however their events are packed. Source: docs/format.md, "The digest of a log".
 *
 * Takes records one by one: its memory does not follow the log.
 */
export class LogDigest {
  readonly #hash = new Bun.CryptoHasher("sha256");
  readonly #texts = new EventBytes("\n");
  readonly #bytes = new Uint8Array(SIZE);
  #length = 0;

  /** Number of events taken so far. */
  get events(): number {
    return this.#texts.events;
  }

  /** Takes the events of a record that was checked, or of them those from seq `from` to seq `to` (exclusive). */
  add(record: SessionRecord, from = record.seq, to = record.seq + record.count): void {
    const texts = this.#texts;
    texts.start(record, from, to);
    for (;;) {
      this.#length = texts.fill(this.#bytes, this.#length);
      if (texts.isDone) return;
      this.#flush();
    }
  }

  /** Of what was taken so far; more may be taken afterwards. */
  hex(): string {
    this.#flush();
    return this.#hash.copy().digest("hex");
  }

  #flush(): void {
    this.#hash.update(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
  }
}
