import type { SessionRecord } from "../../session/records.ts";
import { isRunType } from "../../session/runs.ts";
import { blockOf, endedBlockOf, stringsOf, toOneString } from "./delta-text.ts";
import { recordChecksum } from "./keys.ts";
import { addChecksum, type StreamedText } from "./quotes.ts";
import { type RowText, splitText } from "./row-text.ts";

/**
 * Text of the records of deltas, in UTF-16 units, that lies between a row and the first delta that it quotes at most:
 * whoever reads rows in order need keep no more of them.
 */
export const MAX_REACH = 4 * 1024 * 1024;
/** Of all sessions together. */
const MAX_KEPT = 4 * MAX_REACH;
/**
 * A string of fewer UTF-16 units, as it stands in JSON, is stored again: it costs little, it makes the last events quick to
 * read, and it is a copy.
 */
export const LEAST_QUOTED = 8_192;

/** What begins or ends a Step. Nothing is quoted across it. */
export function isStepBorder(type: string): boolean {
  return type === "step/start" || type === "step/end" || type === "turn/start" || type === "turn/end";
}

/** A record of deltas that is stored, and the checksum of its row. */
interface StoredDelta {
  readonly record: SessionRecord;
  readonly checksum: number;
}

/** A block that is being streamed. Its deltas are put together when its text may come again. */
class StreamedBlock {
  readonly #key: StreamedText["key"];
  readonly #deltas: Array<[number, number]> = [];
  #checksum = 0;
  #unread: SessionRecord[] = [];
  #strings = "";
  #length = 0;
  #read: StreamedText | undefined;

  constructor(block: string) {
    this.#key = block.startsWith("tool-call") ? "arguments" : "text";
  }

  /** At most so many units are in its text: those of all its records. */
  get length(): number {
    return this.#length;
  }

  add({ record, checksum }: StoredDelta): void {
    const { seq, count } = record;
    const last = this.#deltas.at(-1);
    if (last !== undefined && last[1] + 1 === seq) last[1] = seq + count - 1;
    else this.#deltas.push([seq, seq + count - 1]);
    this.#checksum = addChecksum(this.#checksum, checksum);
    this.#unread.push(record);
    this.#length += record.text.length;
  }

  read(): StreamedText {
    if (this.#unread.length > 0) {
      this.#strings += this.#unread.map(stringsOf).join("");
      this.#unread = [];
      this.#read = undefined;
    }
    this.#read ??= {
      key: this.#key,
      deltas: this.#deltas,
      inQuotes: toOneString(this.#strings),
      checksum: this.#checksum,
    };
    return this.#read;
  }
}

interface OpenStep {
  readonly blocks: Map<string, StreamedBlock>;
  /** Deltas that nobody has looked at: in a Step without a long text that is all of them. */
  unread: StoredDelta[];
  /** Text that was kept. */
  length: number;
}

/**
 * The deltas of the Steps that are being streamed, by the number of their session: what comes again of them is stored as
 * a quote. Records must be given in the order in which they are stored, each of them.
 */
export class StreamedBlocks {
  readonly #leastQuoted: number;
  readonly #steps = new Map<number, OpenStep>();
  #length = 0;

  /**
   * @param leastQuoted UTF-16 units, as they stand in JSON, of the shortest string that is quoted; 1 or more
   * @throws RangeError for another number
   */
  constructor(leastQuoted = LEAST_QUOTED) {
    if (!Number.isSafeInteger(leastQuoted) || leastQuoted < 1)
      throw new RangeError(`the shortest string that is quoted cannot have ${leastQuoted} units`);
    this.#leastQuoted = leastQuoted;
  }

  /** The columns for a record that comes next in a session. */
  split(session: number, record: SessionRecord): RowText & { readonly checksum: number } {
    const { type, text } = record;
    const isChunk = type === "assistant/chunk";
    if (isRunType(type) || (isChunk && !this.#isBlockEnd(text))) {
      const row = { body: text, sources: null };
      const checksum = recordChecksum(row);
      this.#keep(session, { record, checksum });
      return { ...row, checksum };
    }
    if (isStepBorder(type)) this.forget(session);
    const mayQuote = isChunk || type === "assistant/message" || type === "tool/call";
    const row = splitText(text, mayQuote ? this.#longTexts(session, text) : []);
    return { ...row, checksum: recordChecksum(row) };
  }

  forget(session: number): void {
    this.#length -= this.#steps.get(session)?.length ?? 0;
    this.#steps.delete(session);
  }

  forgetAll(): void {
    this.#steps.clear();
    this.#length = 0;
  }

  /** Whether a chunk is the end of a block that may be quoted. A short one is as good as a delta that says nothing. */
  #isBlockEnd(text: string): boolean {
    return text.length >= this.#leastQuoted && endedBlockOf(text) !== undefined;
  }

  /** What is no delta counts as well, so that readers, who cannot tell it from one, need keep no more. */
  #keep(session: number, delta: StoredDelta): void {
    const { length } = delta.record.text;
    let step = this.#steps.get(session);
    if (step !== undefined && step.length + length > MAX_REACH) {
      this.forget(session);
      step = undefined;
    }
    if (this.#length + length > MAX_KEPT) {
      this.forgetAll();
      step = undefined;
    }
    if (step === undefined) {
      step = { blocks: new Map(), unread: [], length: 0 };
      this.#steps.set(session, step);
    }
    step.unread.push(delta);
    step.length += length;
    this.#length += length;
  }

  /** What was streamed in the Step, and may stand in a text. */
  #longTexts(session: number, text: string): readonly StreamedText[] {
    const step = this.#steps.get(session);
    if (step === undefined || Math.min(text.length, step.length) < this.#leastQuoted) return [];
    for (const delta of step.unread) {
      const key = blockOf(delta.record);
      if (key === undefined) continue;
      const block = step.blocks.get(key) ?? new StreamedBlock(key);
      step.blocks.set(key, block);
      block.add(delta);
    }
    step.unread = [];
    const ended = endedBlockOf(text);
    const blocks = ended === undefined ? step.blocks.values() : [step.blocks.get(ended)];
    return Array.from(blocks, (block) => this.#longText(block)).filter((long) => long !== undefined);
  }

  #longText(block: StreamedBlock | undefined): StreamedText | undefined {
    const text = block !== undefined && block.length >= this.#leastQuoted ? block.read() : undefined;
    return text !== undefined && text.inQuotes.length >= this.#leastQuoted ? text : undefined;
  }
}
