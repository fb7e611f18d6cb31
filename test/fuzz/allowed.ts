import { decodeRecord, recordEvents } from "../../src/session/records.ts";
import type { Input, OriginalRecord } from "./types.ts";

const KNOWN = new WeakMap<Input["originals"], AllowedRecords>();

/** The records that the bytes of an input come from: what may be read of it, where a checksum tells. */
export class AllowedRecords {
  readonly #originals: Input["originals"];
  /** A text names its seq. */
  readonly #texts = new Set<string>();

  private constructor(originals: Input["originals"]) {
    this.#originals = originals;
    for (const { records } of originals) for (const { text } of records) this.#texts.add(text);
  }

  static of({ originals }: Pick<Input, "originals">): AllowedRecords {
    const known = KNOWN.get(originals) ?? new AllowedRecords(originals);
    KNOWN.set(originals, known);
    return known;
  }

  has({ text }: Pick<OriginalRecord, "text">): boolean {
    return this.#texts.has(text);
  }

  /** Whether an original has this very event. */
  hasEvent(event: { readonly seq: number }): boolean {
    const { seq } = event;
    const text = JSON.stringify(event);
    return this.#originals.some(({ records }) =>
      records
        .filter((record) => record.seq <= seq && seq < record.seq + record.count)
        .flatMap((record) => recordEvents(decodeRecord(record.text, {}).record))
        .some((known) => JSON.stringify(known) === text),
    );
  }
}
