import { printableLine } from "./printable.ts";

const CLEAR_LINE = "\r\u001b[K";
/** Of a terminal that does not know its width. */
const COLUMNS = 80;

export interface ProgressOptions {
  /** Where the line is drawn; stderr when absent. */
  readonly stream?: Pick<NodeJS.WriteStream, "isTTY" | "columns" | "write">;
  /** Milliseconds from the beginning on in which nothing is drawn; none when absent. */
  readonly silentMs?: number;
  /** Tells the time, in milliseconds. */
  readonly clock?: () => number;
}

/** One line that says how far a command is, where its stream is a terminal; else nothing at all. */
export class Progress implements Disposable {
  readonly #stream: NonNullable<ProgressOptions["stream"]>;
  readonly #clock: () => number;
  readonly #begin: number;
  #isDirty = false;

  constructor({
    stream = process.stderr,
    silentMs = 0,
    clock = () => performance.now(),
  }: ProgressOptions = {}) {
    this.#stream = stream;
    this.#clock = clock;
    this.#begin = clock() + silentMs;
  }

  show(text: string): void {
    if (this.#stream.isTTY !== true || this.#clock() < this.#begin) return;
    // A terminal that does not know its width says 0.
    const width = (this.#stream.columns || COLUMNS) - 1;
    this.#stream.write(CLEAR_LINE + Bun.sliceAnsi(printableLine(text), 0, width));
    this.#isDirty = true;
  }

  /** Takes the line away, so that other output can follow. */
  clear(): void {
    if (this.#isDirty) this.#stream.write(CLEAR_LINE);
    this.#isDirty = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
