import { type DecodedRecord, decodeRecord, recordTexts, type SessionRecord } from "../records.ts";
import { fingerprint, SeenBranches, SeenSeqs } from "./seen.ts";

/** A stretch of storage that yielded no record, as the check of the store found it. */
export interface SalvageDamage {
  readonly code: string;
  readonly message: string;
  readonly expected?: string;
  readonly found?: string;
  /** Byte offset in the file and number of the frame or row, as far as they are known. */
  readonly offset?: number;
  readonly row?: number;
}

/** What comes out of storage, put in order. */
export type Ordered =
  /** Comes after all events before it. */
  | { readonly kind: "record"; readonly decoded: DecodedRecord }
  /** A record of another branch, one whose place is past, or what is left of one. */
  | { readonly kind: "aside"; readonly record: SessionRecord; readonly reason: "branch" | "order" | "part" }
  /** The seqs from `from` to `to`, which is not among them, do not come. */
  | { readonly kind: "gap"; readonly from: number; readonly to: number }
  | { readonly kind: "damage"; readonly damage: SalvageDamage };

/**
 * Tells the one line of events in whatever lies in storage. Seqs of what it gives out as `record` only go up.
 *
 * - An event that is there twice is dropped the second time; another event of the same seq begins a branch, and so
 *   does what goes on behind that one. The first branch stays.
 * - A jump ahead is believed when the record behind it agrees: a single digit that flipped must not cost the rest.
 *
 * Keeps a fingerprint of each event, and at most one record.
 */
export class SeqOrder {
  readonly #taken = new SeenSeqs();
  readonly #aside = new SeenBranches();
  #next = 0;
  /** Where the branch goes on that the last record belonged to. */
  #branch: number | undefined;
  /** A record that jumps ahead, and the damage behind it. */
  #jump: DecodedRecord | undefined;
  #behindJump: Array<readonly [SalvageDamage, SessionRecord | undefined]> = [];
  #repeated = 0;
  #isShuffled = false;
  #out: Ordered[] = [];

  /** Events that were there more than once. */
  get repeated(): number {
    return this.#repeated;
  }

  /** Whether records stood before others that they follow, and were put right. */
  get isShuffled(): boolean {
    return this.#isShuffled;
  }

  /** How many seqs below the last one did not come at all. Costs what was set aside. */
  get missing(): number {
    let elsewhere = 0;
    for (const seq of this.#aside.seqs()) {
      if (seq < this.#next && this.#taken.get(seq) === undefined) elsewhere += 1;
    }
    return this.#next - this.#taken.size - elsewhere;
  }

  take(decoded: DecodedRecord): Ordered[] {
    this.#offer(decoded);
    return this.#flush();
  }

  /** @param part what is left of a record there */
  damage(damage: SalvageDamage, part?: SessionRecord): Ordered[] {
    if (this.#jump === undefined) this.#pass(damage, part);
    else this.#behindJump.push([damage, part]);
    return this.#flush();
  }

  end(): Ordered[] {
    this.#settle(true);
    return this.#flush();
  }

  #flush(): Ordered[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #offer(decoded: DecodedRecord): void {
    const { record } = decoded;
    const { seq } = record;
    const end = seq + record.count;
    if (this.#branch === seq) {
      this.#setAside(record, "branch");
      this.#branch = end;
      return;
    }
    if (seq < this.#next) {
      this.#again(record);
      return;
    }
    const jump = this.#jump?.record;
    if (jump !== undefined) {
      if (seq === this.#next && end <= jump.seq) {
        this.#isShuffled = true;
        this.#accept(decoded);
        if (end === jump.seq) this.#settle(true);
        return;
      }
      this.#settle(seq >= jump.seq);
      this.#offer(decoded);
      return;
    }
    if (seq === this.#next) this.#accept(decoded);
    else this.#jump = decoded;
  }

  /** Decides on the record that jumps ahead. */
  #settle(isBelieved: boolean): void {
    const jump = this.#jump;
    if (jump === undefined) return;
    this.#jump = undefined;
    if (isBelieved) this.#accept(jump);
    else this.#setAside(jump.record, "order");
    for (const [damage, part] of this.#behindJump) this.#pass(damage, part);
    this.#behindJump = [];
  }

  #accept(decoded: DecodedRecord): void {
    const { record } = decoded;
    if (record.seq > this.#next) this.#out.push({ kind: "gap", from: this.#next, to: record.seq });
    recordTexts(record).forEach((text, k) => {
      this.#taken.set(record.seq + k, fingerprint(text));
    });
    this.#next = record.seq + record.count;
    this.#branch = undefined;
    this.#out.push({ kind: "record", decoded });
  }

  /** A record that begins with a seq whose place is past. */
  #again(record: SessionRecord): void {
    const texts = recordTexts(record);
    const equal = texts.filter((text, k) => this.#taken.get(record.seq + k) === fingerprint(text)).length;
    if (equal === texts.length) {
      this.#repeated += equal;
      return;
    }
    const end = record.seq + record.count;
    if (record.count > 1 && (equal > 0 || end > this.#next)) {
      for (const text of texts) this.#offer(decodeRecord(text, {}));
      return;
    }
    const isBranch = this.#taken.get(record.seq) !== undefined;
    this.#setAside(record, isBranch ? "branch" : "order");
    if (isBranch) this.#branch = end;
  }

  #pass(damage: SalvageDamage, part: SessionRecord | undefined): void {
    this.#out.push({ kind: "damage", damage });
    if (part !== undefined) this.#setAside(part, "part");
  }

  #setAside(record: SessionRecord, reason: "branch" | "order" | "part"): void {
    const marks = recordTexts(record).map(fingerprint);
    if (marks.every((mark, k) => this.#aside.has(record.seq + k, mark))) {
      this.#repeated += marks.length;
      return;
    }
    for (const [k, mark] of marks.entries()) this.#aside.add(record.seq + k, mark);
    this.#out.push({ kind: "aside", record, reason });
  }
}
