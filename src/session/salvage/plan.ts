import type { DecodedRecord, SessionRecord } from "../records.ts";
import { type Ordered, type SalvageDamage, SeqOrder } from "./order.ts";
import { isInput, placeNamedBy, SalvageTurns } from "./turns.ts";
import { type AsideReason, SalvageWriter } from "./writer.ts";

export type { SalvageDamage } from "./order.ts";

/** Where a salvaged log comes from. */
export interface SalvageOrigin {
  /** Name of the file that was read, without its folder. */
  readonly file: string;
  /** Id of the session that was read. */
  readonly session: string;
  /** Whether its header could be read. */
  readonly header: "kept" | "lost";
}

/** What a salvage came to, in events. */
export interface SalvageTotals {
  /** In the new log with their own type and data. */
  readonly taken: number;
  /** Kept beside the history, as far as they could be read. */
  readonly aside: number;
  /** There more than once; the second time they were left out. */
  readonly repeated: number;
  /** Seqs that did not come. */
  readonly missing: number;
  /** Stretches of storage that yielded nothing. */
  readonly damaged: number;
  /** Made up to begin and end Turns and Steps, and to answer calls. */
  readonly added: number;
  /** Whether the log was as it should be: nothing of it is missing, set aside, or in another place. */
  readonly isSound: boolean;
}

/** Most records that wait for one that says where they belong. */
const MAX_HELD = 64;

/**
 * Makes a sound log of all that is left of a damaged one, record by record in stored order. Pure, deterministic, and in
 * memory that follows the number of events only by some ten bytes each. Source: docs/format.md, "Salvaged sessions".
 *
 * The events before the first damage keep their seqs and texts. What comes later gets the next seqs; apart from that
 * its text stays as it is. Events that fit nowhere are kept whole inside `salvage/event`, and `salvage/gap` and
 * `salvage/end` say what is missing: readers skip all three.
 */
export class SalvagePlan {
  readonly #origin: SalvageOrigin;
  readonly #order = new SeqOrder();
  readonly #writer = new SalvageWriter();
  readonly #turns = new SalvageTurns(this.#writer);
  /** Records that wait, the first of them for one that names a Turn. */
  #held: DecodedRecord[] = [];
  /** What is missing before the record that comes next, and is not yet said. */
  #gap: Gap | undefined;
  #taken = 0;
  #aside = 0;
  #damaged = 0;
  #totals: SalvageTotals | undefined;

  constructor(origin: SalvageOrigin) {
    this.#origin = origin;
  }

  /** What it came to; known once the log has ended. */
  get totals(): SalvageTotals {
    if (this.#totals === undefined) throw new TypeError("the salvaged log has not ended");
    return this.#totals;
  }

  /** Takes a record that is sound in itself, whatever its seq. Returns what the new log gets next. */
  take(decoded: DecodedRecord): SessionRecord[] {
    return this.#put(this.#order.take(onOneLine(decoded)));
  }

  /** Takes note of a stretch of storage that yielded no record. @param part what is left of one there */
  damage(damage: SalvageDamage, part?: SessionRecord): SessionRecord[] {
    return this.#put(this.#order.damage(damage, part));
  }

  /** Ends the log. */
  end(): SessionRecord[] {
    const out = this.#put(this.#order.end());
    this.#release();
    const { work } = this.#writer;
    this.#sayGap(work.lastTime);
    const counts = {
      taken: this.#taken,
      aside: this.#aside,
      repeated: this.#order.repeated,
      missing: this.#order.missing,
      damaged: this.#damaged,
    };
    const isSound = this.#writer.isPristine && counts.repeated === 0 && !this.#order.isShuffled;
    this.#turns.end();
    this.#totals = { ...counts, added: this.#writer.added, isSound };
    this.#writer.note(
      "salvage/end",
      { ...this.#origin, ...counts, added: this.#writer.added },
      work.lastTime,
    );
    return [...out, ...this.#writer.flush()];
  }

  #put(ordered: readonly Ordered[]): SessionRecord[] {
    for (const item of ordered) {
      if (item.kind === "record") this.#offer(item.decoded);
      else if (item.kind === "aside") this.#setAside(item.record, item.reason);
      else {
        this.#release();
        this.#note(item);
      }
    }
    return this.#writer.flush();
  }

  #note(item: Extract<Ordered, { kind: "gap" | "damage" }>): void {
    const gap = this.#gap ?? { damaged: 0 };
    if (item.kind === "gap") {
      this.#gap = { ...gap, fromSeq: item.from, toSeq: item.to - 1 };
      this.#turns.isLost = true;
    } else {
      this.#damaged += 1;
      this.#gap = { ...gap, damaged: gap.damaged + 1, reason: gap.reason ?? item.damage };
    }
  }

  #offer(decoded: DecodedRecord): void {
    if (this.#held.length > 0) {
      this.#held.push(decoded);
      if (placeNamedBy(decoded) !== undefined) this.#decide(decoded);
      else if (this.#held.length >= MAX_HELD) this.#decide(undefined);
    } else if (this.#needsCompany(decoded)) this.#held = [decoded];
    else this.#place(decoded);
  }

  /** Whether it takes a look at what comes next to tell where this record belongs. */
  #needsCompany(decoded: DecodedRecord): boolean {
    if (isInput(decoded.event)) return this.#turns.isLost;
    if (this.#turns.isOfOpenStep(decoded)) return false;
    const at = placeNamedBy(decoded);
    return at !== undefined && this.#turns.isSurprise(decoded, at);
  }

  /** Places the first record that waits; `behind` is the next one that names a Turn, if that is known. */
  #decide(behind: DecodedRecord | undefined): void {
    const [first, ...rest] = this.#held;
    this.#held = [];
    if (first === undefined) return;
    const { record, event } = first;
    if (isInput(event)) {
      this.#sayGap(record.time);
      this.#turns.makeRoomForInput(record.time, behind);
      this.#place(first);
    } else if (behind === undefined || isBefore(first, behind)) {
      this.#place(first);
    } else {
      // The log goes on below: the place that this event names is not what was written.
      this.#turns.isLost = true;
      this.#setAside(record, "turn");
    }
    for (const decoded of rest) this.#offer(decoded);
  }

  /** Places all that waits, with what is known by now. */
  #release(): void {
    while (this.#held.length > 0) this.#decide(undefined);
  }

  #place(decoded: DecodedRecord): void {
    const { record } = decoded;
    this.#sayGap(record.time);
    const reason = this.#turns.makeRoom(decoded) ?? (this.#writer.take(decoded) ? undefined : "surface");
    if (reason === undefined) this.#taken += record.count;
    else this.#setAside(record, reason);
  }

  #setAside(record: SessionRecord, reason: AsideReason): void {
    this.#sayGap(record.time);
    this.#writer.aside(record, reason);
    this.#aside += record.count;
  }

  #sayGap(nextTime: number): void {
    const gap = this.#gap;
    if (gap === undefined) return;
    this.#gap = undefined;
    const { next, work } = this.#writer;
    this.#writer.note("salvage/gap", gap, next === 0 ? nextTime : work.lastTime);
  }
}

/** The data of `salvage/gap`. */
interface Gap {
  /** First and last seq that is missing; absent where none is. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  /** Stretches of storage that yielded nothing. */
  readonly damaged: number;
  /** What was found at the first of them. */
  readonly reason?: SalvageDamage;
}

/** Whether the place that a record names comes before the other's, or is the same. */
function isBefore(record: DecodedRecord, other: DecodedRecord): boolean {
  const [at, behind] = [placeNamedBy(record), placeNamedBy(other)];
  if (at === undefined || behind === undefined) return true;
  if (at.turn !== behind.turn) return at.turn < behind.turn;
  // The end of a Turn comes after all of its Steps.
  return (at.step ?? 0) <= (behind.step ?? Number.POSITIVE_INFINITY);
}

/** A database keeps a text with line feeds between its members, which no line of a log can hold. */
function onOneLine(decoded: DecodedRecord): DecodedRecord {
  const { record } = decoded;
  if (!record.text.includes("\n")) return decoded;
  return { ...decoded, record: { ...record, text: record.text.replaceAll("\n", " ") } };
}
