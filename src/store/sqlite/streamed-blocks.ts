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
/** Shorter strings are not worth a search. */
const LEAST_LENGTH = 128;

/** What begins or ends a Step. Nothing is quoted across it. */
export function isStepBorder(type: string): boolean {
  return type === "step/start" || type === "step/end" || type === "turn/start" || type === "turn/end";
}

/** A block that is being streamed. Its deltas are parsed when its text may come again. */
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

  get isLong(): boolean {
    return this.#length >= LEAST_LENGTH;
  }

  /** @param checksum of its row */
  add(record: SessionRecord, checksum: number): void {
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
  /** Text that was kept. */
  length: number;
}

/**
 * The deltas of the Steps that are being streamed, by the number of their session: what comes again of them is stored as
 * a quote. Records must be given in the order in which they are stored, each of them.
 */
export class StreamedBlocks {
  readonly #steps = new Map<number, OpenStep>();
  #length = 0;

  /** The columns for a record that comes next in a session. */
  split(session: number, record: SessionRecord): RowText & { readonly checksum: number } {
    const row = this.#split(session, record);
    const checksum = recordChecksum(row);
    if (row.block !== undefined) row.block.add(record, checksum);
    const { body, sources } = row;
    return { body, sources, checksum };
  }

  #split(session: number, record: SessionRecord): RowText & { readonly block?: StreamedBlock | undefined } {
    const { type, text } = record;
    if (isRunType(type)) return this.#keep(session, record);
    if (type === "assistant/chunk") {
      const ended = endedBlockOf(text);
      if (ended === undefined) return this.#keep(session, record);
      const block = this.#steps.get(session)?.blocks.get(ended);
      return splitText(text, block === undefined ? [] : longTexts([block]));
    }
    if (type === "assistant/message" || type === "tool/call") {
      const step = text.length < LEAST_LENGTH ? undefined : this.#steps.get(session);
      return splitText(text, step === undefined ? [] : longTexts(step.blocks.values()));
    }
    if (isStepBorder(type)) this.forget(session);
    return splitText(text);
  }

  forget(session: number): void {
    this.#length -= this.#steps.get(session)?.length ?? 0;
    this.#steps.delete(session);
  }

  forgetAll(): void {
    this.#steps.clear();
    this.#length = 0;
  }

  /** What is no delta counts as well, so that readers, who cannot tell it from one, need keep no more. */
  #keep(session: number, record: SessionRecord) {
    const { text } = record;
    let step = this.#steps.get(session);
    if (step !== undefined && step.length + text.length > MAX_REACH) {
      this.forget(session);
      step = undefined;
    }
    if (this.#length + text.length > MAX_KEPT) {
      this.forgetAll();
      step = undefined;
    }
    if (step === undefined) {
      step = { blocks: new Map(), length: 0 };
      this.#steps.set(session, step);
    }
    step.length += text.length;
    this.#length += text.length;
    const key = blockOf(record);
    if (key === undefined) return { body: text, sources: null };
    const block = step.blocks.get(key) ?? new StreamedBlock(key);
    step.blocks.set(key, block);
    return { body: text, sources: null, block };
  }
}

function* longTexts(blocks: Iterable<StreamedBlock>): Generator<StreamedText> {
  for (const block of blocks) {
    const text = block.isLong ? block.read() : undefined;
    if (text !== undefined && text.inQuotes.length >= LEAST_LENGTH) yield text;
  }
}
