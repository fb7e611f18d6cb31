import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { CorruptError, StorageFailedError, toStorageError } from "../errors.ts";
import { splitLines } from "./line-decoder.ts";
import { isSameFile, LogFile, type LogLocation } from "./log-file.ts";
import { unitsOf } from "./units.ts";

/*
 * A session that is open keeps the texts of its records. For a log of hundreds of megabytes that would be hundreds of
 * megabytes of memory: such a log is read again where a text is asked for.
 */

/** Logs from this size on are not kept in memory, in stored bytes. */
export const LARGE_LOG = 32 * 1024 * 1024;
/** Text that is kept of any log, in UTF-16 units: a small file may unfold to much. */
const MOST_TEXT = 64 * 1024 * 1024;

/** A record of a large log, without its text. */
class StoredRecord implements SessionRecord {
  readonly seq: number;
  readonly count: number;
  readonly type: string;
  readonly time: number;
  readonly #log: LargeLog;
  readonly #offset: number;
  readonly #line: number;

  constructor({ seq, count, type, time }: SessionRecord, log: LargeLog, offset: number, line: number) {
    this.seq = seq;
    this.count = count;
    this.type = type;
    this.time = time;
    this.#log = log;
    this.#offset = offset;
    this.#line = line;
  }

  get text(): string {
    return this.#log.lineAt(this.#offset, this.#line);
  }
}

/** Where the records of a log that is large, or turns out to be, are read again. */
export class LargeLog {
  readonly #file: LogFile;
  /** The unit that was read last: whoever reads one record often reads the next. */
  #offset = -1;
  #lines: readonly string[] = [];
  /** Text of the records so far. */
  #text = 0;
  readonly #kept = new WeakMap<SessionRecord, SessionRecord>();

  /** `file` says which log; it need not stay open. */
  constructor(file: LogFile) {
    this.#file = file;
  }

  /** Takes note of a unit: of a log that turns out to be large, where its records lie. */
  take(offset: number, records: readonly DecodedRecord[]): void {
    for (const { record } of records) this.#text += record.text.length;
    if (this.#file.size < LARGE_LOG && this.#text < MOST_TEXT) return;
    for (const [line, { record }] of records.entries()) {
      this.#kept.set(record, new StoredRecord(record, this, offset, line));
    }
  }

  /** The record as it is to be kept: without its text where the log is large. */
  keep(record: SessionRecord): SessionRecord {
    return this.#kept.get(record) ?? record;
  }

  /** @throws StorageFailedError, CorruptError when the log is not there any more as it was */
  lineAt(offset: number, line: number): string {
    if (this.#offset !== offset) {
      this.#lines = this.#read(offset);
      this.#offset = offset;
    }
    const text = this.#lines[line];
    if (text === undefined) throw this.#changed(offset);
    return text;
  }

  #read(offset: number): readonly string[] {
    const { path, encoding, size, identity } = this.#file;
    using file = this.#open({ path, encoding }, size);
    if (!isSameFile(file.identity, identity)) {
      throw new StorageFailedError("The log of an open session was replaced by another file", {
        place: { path },
        hint: "Put the original file back, and open the session again.",
      });
    }
    const unit = unitsOf(file, offset).next().value;
    const lines = unit?.kind === "unit" ? splitLines(unit.content) : undefined;
    if (lines === undefined) throw this.#changed(offset);
    return lines;
  }

  #open(location: LogLocation, size: number): LogFile {
    try {
      return new LogFile(location, size);
    } catch (error) {
      throw toStorageError(error, "The log of an open session could not be read", { path: location.path });
    }
  }

  #changed(offset: number): CorruptError {
    return new CorruptError("The log of an open session was changed", {
      expected: "what was read when it was opened",
      found: "something else",
      place: { path: this.#file.path, offset },
    });
  }
}
