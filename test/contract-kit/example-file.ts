import * as fs from "node:fs";
import { dirname } from "node:path";
import { CorruptError, type HoldfastError, StorageFailedError, toStorageError } from "holdfast/errors";
import { type DecodedRecord, decodeRecord, type SessionRecord } from "holdfast/records";

/** What makes a session. `birth` is of no other one, not even of one with the same id. */
interface Founding {
  readonly id: string;
  readonly birth: string;
  readonly header: string;
}

/** One line of a file is one commit: a checksum, a space, and this as JSON. */
interface Line {
  /** On the first line. */
  readonly session?: Founding;
  /** Seq after its last event. */
  readonly to: number;
  readonly records: readonly string[];
}

/** Writes some of the bytes and says how many; a parameter, so that a test can have a disk that is full. */
export type Write = typeof fs.writeSync;

/** The file of one session: as it was found, and as this process has changed it since. */
export class ExampleFile implements Founding {
  readonly path: string;
  readonly id: string;
  readonly birth: string;
  readonly header: string;
  readonly #write: Write;
  /** Where each whole line lies, in bytes, and the seq after its events. */
  readonly #lines: Array<{ readonly start: number; readonly end: number; readonly to: number }> = [];
  #torn = 0;
  #fault: HoldfastError | undefined;

  constructor(path: string, { id, birth, header }: Founding, write: Write) {
    this.path = path;
    this.id = id;
    this.birth = birth;
    this.header = header;
    this.#write = write;
  }

  /** The session in a file; none where a crash cut its first line short, so that nobody was ever told of it. */
  static find(path: string, write: Write): ExampleFile | undefined {
    const bytes = fs.readFileSync(path);
    let found: ExampleFile | undefined;
    let start = 0;
    for (let end = bytes.indexOf(10) + 1; end > 0; end = bytes.indexOf(10, start) + 1) {
      try {
        const { session, to } = decode(bytes.subarray(start, end), path, start);
        if (session !== undefined) found ??= new ExampleFile(path, session, write);
        if (found !== undefined) found.#lines.push({ start, end, to });
      } catch (error) {
        // Without its first line nobody knows whose file it is: the store does not open over that.
        if (found === undefined || !(error instanceof CorruptError)) throw error;
        found.#fault = error;
        return found;
      }
      start = end;
    }
    if (found !== undefined) found.#torn = bytes.length - start;
    return found;
  }

  get #size(): number {
    return this.#lines.at(-1)?.end ?? 0;
  }

  get next(): number {
    return this.#lines.at(-1)?.to ?? 0;
  }

  /** Bytes behind the last whole line, which a crash left. */
  get torn(): number {
    return this.#torn;
  }

  /** Why nothing may be written any more: a line is damaged, or a commit could not be taken back. */
  get fault(): HoldfastError | undefined {
    return this.#fault;
  }

  /** The end of a log grows with every append, and `birth` tells a session from one of the same id before it. */
  get revision(): string {
    return `${this.birth}.${this.next}.${this.#torn}`;
  }

  /** The index of the line with this seq; the number of lines when there is none. */
  lineOf(seq: number): number {
    const line = this.#lines.findIndex(({ to }) => to > seq);
    return line < 0 ? this.#lines.length : line;
  }

  /** The records of each line, read when they are asked for; at the end the damage, where there is any. */
  *read(first: number): Generator<DecodedRecord[]> {
    const file = fs.openSync(this.path, "r");
    try {
      for (const { start, end } of this.#lines.slice(first)) {
        const bytes = Buffer.alloc(end - start);
        fs.readSync(file, bytes, 0, bytes.length, start);
        const place = { path: this.path, sessionId: this.id, offset: start };
        // One by one: a page is to be small, and a batch may not be.
        for (const text of decode(bytes, this.path, start).records) yield [decodeRecord(text, place)];
      }
      if (this.#fault instanceof CorruptError) throw this.#fault;
    } finally {
      fs.closeSync(file);
    }
  }

  /** Keeps the torn bytes beside the log, then cuts them off: in this order, so that no crash loses them. */
  setAside(): void {
    const bytes = fs.readFileSync(this.path).subarray(this.#size);
    fs.appendFileSync(`${this.path}.torn`, bytes, { mode: 0o600, flush: true });
    syncFolder(dirname(this.path));
    const file = fs.openSync(this.path, "r+");
    try {
      fs.ftruncateSync(file, this.#size);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    this.#torn = 0;
  }

  /** Durable when it returns; when it throws, the file is as it was. */
  append(records: readonly SessionRecord[]): void {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#torn > 0) {
      const hint = "Load the session first: that sets the torn end aside.";
      throw new StorageFailedError("The end of the log is torn", { place: { path: this.path }, hint });
    }
    const start = this.#size;
    const last = records.at(-1);
    if (last === undefined) return;
    const { id, birth, header } = this;
    const to = last.seq + last.count;
    const texts = records.map(({ text }) => text);
    const bytes = encode({ ...(start === 0 ? { session: { id, birth, header } } : {}), to, records: texts });
    this.#commit(start, bytes);
    this.#lines.push({ start, end: start + bytes.length, to });
  }

  #commit(start: number, bytes: Uint8Array): void {
    const file = fs.openSync(this.path, start === 0 ? "w" : "r+", 0o600);
    try {
      let done = 0;
      // A disk that is nearly full takes a part of the bytes, and says so in this number alone.
      while (done < bytes.length) done += this.#write(file, bytes, done, bytes.length - done, start + done);
      fs.fdatasyncSync(file);
      if (start === 0) syncFolder(dirname(this.path));
    } catch (error) {
      try {
        fs.ftruncateSync(file, start);
        fs.fsyncSync(file);
      } catch (cause) {
        this.#fault = toStorageError(cause, "A failed append could not be undone", { path: this.path });
      }
      throw error;
    } finally {
      fs.closeSync(file);
    }
  }
}

/** Makes the names in a folder durable. */
export function syncFolder(path: string): void {
  const folder = fs.openSync(path, "r");
  fs.fsyncSync(folder);
  fs.closeSync(folder);
}

function encode(line: Line): Buffer {
  const json = JSON.stringify(line);
  return Buffer.from(`${Bun.hash.crc32(json)} ${json}\n`);
}

function decode(bytes: Uint8Array, path: string, offset: number): Line {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const json = text.slice(text.indexOf(" ") + 1, -1);
  const found = `checksum ${Bun.hash.crc32(json)}`;
  const expected = `checksum ${text.slice(0, text.indexOf(" "))}`;
  // With its checksum it is what was written here, and has that shape.
  if (found === expected) return JSON.parse(json) as Line;
  throw new CorruptError("A line of the log is damaged", { expected, found, place: { path, offset } });
}
