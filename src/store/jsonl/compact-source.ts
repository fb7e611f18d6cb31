import { RunMerger } from "../../session/merge-runs.ts";
import { breathe } from "../breathe.ts";
import { LogDigest } from "../digest.ts";
import { CorruptError, HoldfastError, SessionGoneError } from "../errors.ts";
import { TORN_END } from "../finding.ts";
import { type Form, FrameWriter } from "./compact-layout.ts";
import type { LogEntry } from "./directory.ts";
import { encodeFrame } from "./frame-codec.ts";
import type { LogHead } from "./head.ts";
import { LogFile, toLogError } from "./log-file.ts";
import { scanLog } from "./scan.ts";

/* The log that is compacted, as it is read, and what it is to become. */

/** Bytes copied at once. */
const WINDOW = 1024 * 1024;

/** What is wrong is the log that is read, not what is written. */
export class Unreadable extends Error {
  readonly reason: HoldfastError;

  constructor(reason: HoldfastError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Runs what only reads the log. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof HoldfastError ? new Unreadable(error) : error;
  }
}

/** @throws Unreadable; SessionGoneError where it was deleted */
export function openLog(entry: LogEntry, sessionId: string): LogFile {
  try {
    return new LogFile(entry);
  } catch (error) {
    const failure = toLogError(error, "The log could not be opened", entry.path, sessionId);
    throw failure instanceof SessionGoneError ? failure : new Unreadable(failure);
  }
}

export interface Pass {
  readonly signal?: AbortSignal;
  readonly onProgress: (share: number) => void;
}

/** What a log is to become, piece by piece. */
export class NewLog {
  readonly #file: LogFile;
  readonly #id: string;
  readonly #from: number;
  readonly #form: Form;
  readonly head: LogHead;
  #digest = new LogDigest();

  constructor(file: LogFile, id: string, head: LogHead, from: number, form: Form) {
    this.#file = file;
    this.#id = id;
    this.head = head;
    this.#from = from;
    this.#form = form;
  }

  /** Of what was read in the last pass. */
  get measure(): { readonly events: number; readonly digest: string } {
    return { events: this.#digest.events, digest: this.#digest.hex() };
  }

  async *pieces(pass: Pass): AsyncGenerator<Buffer> {
    const file = this.#file;
    const { headerText, bodyOffset } = this.head;
    const isFramed = file.encoding === "zstd";
    // A plain log may have a mark of an editor before its header.
    yield isFramed ? encodeFrame(Buffer.from(`${headerText}\n`)) : reading(() => file.read(0, bodyOffset));
    for (let at = bodyOffset; at < this.#from; at += WINDOW) {
      yield reading(() => file.read(at, Math.min(WINDOW, this.#from - at)));
    }
    yield* this.#body(pass);
  }

  async *#body({ signal, onProgress }: Pass): AsyncGenerator<Buffer> {
    this.#digest = new LogDigest();
    let pieces: Buffer[] = [];
    const merger = new RunMerger();
    const writer = new FrameWriter(this.#form, this.#file.encoding, (bytes) => pieces.push(bytes));
    for await (const step of stepsOf(this.#file, this.#id, this.head.bodyOffset)) {
      signal?.throwIfAborted();
      if (step.kind === "pause") continue;
      onProgress(step.end / this.#file.size);
      for (const decoded of step.records) {
        this.#digest.add(decoded.record);
        if (step.offset >= this.#from) writer.take(merger.take(decoded));
      }
      yield* pieces;
      pieces = [];
    }
    writer.take(merger.end());
    writer.end();
    yield* pieces;
  }
}

/** The records of a log that is whole. */
export async function* stepsOf(file: LogFile, id: string, bodyOffset: number) {
  const steps = scanLog(file, id, { offset: bodyOffset, next: 0, frame: 2 });
  for (;;) {
    const step = reading(() => steps.next());
    if (step.done === true) return;
    if (step.value.kind === "torn") throw new Unreadable(torn(file.path, id, step.value.tail.offset));
    yield step.value;
    await breathe();
  }
}

function torn(path: string, sessionId: string, offset: number): CorruptError {
  return new CorruptError(`The ${TORN_END}`, {
    expected: "a log that ends with a whole batch",
    found: "a torn one",
    place: { path, sessionId, offset },
    hint: "`holdfast sessions repair` sets its end aside, and so does a Host that opens the session. Compact it then.",
  });
}
