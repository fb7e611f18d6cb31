import { encodeEvent, packBatch } from "../session/encoding.ts";
import type { DecodedRecord, SessionRecord } from "../session/records.ts";
import { recordEvents } from "../session/records.ts";
import { breathe } from "./breathe.ts";
import { LogDigest } from "./digest.ts";
import { CopyConflictError, CorruptError, HoldfastError, NotFoundError } from "./errors.ts";
import type { Cancellable, SessionPersistence, SessionStream } from "./persistence.ts";

/**
 * Text of one batch, in UTF-16 units: what one sync makes durable, and in a compressed log one frame. Not larger, since a
 * flipped byte costs the whole frame, and in the last one looks like a commit that was cut short. Not smaller, since each
 * batch waits for the disk, and a short frame packs badly.
 */
const BATCH_LENGTH = 16 * 1024;

export interface CopyOptions extends Cancellable {
  /** Told after each batch: events that the target has, and that it will have. */
  readonly onProgress?: (events: number, total: number) => void;
  /** Whether a target that has all of the source, and has gone on since, is no conflict. */
  readonly mayHaveMore?: boolean;
}

/** What a whole log says about itself. */
export interface Measure {
  readonly events: number;
  readonly digest: string;
  /** Digest of the first events, as many as were asked for; absent when there are fewer. */
  readonly prefix?: string;
  readonly torn: boolean;
}

/** What became of one session. */
export type CopyResult =
  | {
      readonly id: string;
      /** `there`: the target had all of it before. */
      readonly state: "copied" | "there";
      readonly events: number;
      /** Events that were written now; fewer than `events` where an earlier copy was gone on with. */
      readonly written: number;
      /** The same of source and target. */
      readonly digest: string;
      /** Whether the end of the source is damaged or was never fully written; that piece is not copied. */
      readonly torn: boolean;
    }
  /** The source has a header and not one event: there is nothing to copy. */
  | { readonly id: string; readonly state: "empty"; readonly torn: boolean }
  | { readonly id: string; readonly state: "failed"; readonly error: HoldfastError };

/** Where a session is copied from: a store, or what reads like one. */
export interface CopySource {
  stream(id: string, options?: Cancellable): Promise<Omit<SessionStream, "revision">>;
}

/**
 * Copies one session with every event as it is stored, in bounded memory, and reads the copy back. The source is read
 * through before anything is written, so that no damaged session is copied in part. Where the target has the beginning
 * of the same session, its rest is added. No closers are added. A copy that is cut off is gone on with by the next one.
 *
 * Typed errors are in the result. @throws the reason of `signal`, between two batches
 */
export async function copySession(
  source: CopySource,
  target: SessionPersistence,
  id: string,
  options: CopyOptions = {},
): Promise<CopyResult> {
  try {
    return await copy(source, target, id, options);
  } catch (error) {
    if (error instanceof HoldfastError) return { id, state: "failed", error };
    throw error;
  }
}

async function copy(
  source: CopySource,
  target: SessionPersistence,
  id: string,
  { signal, onProgress, mayHaveMore }: CopyOptions,
): Promise<CopyResult> {
  const cancellable = signal === undefined ? {} : { signal };
  const original = await source.stream(id, cancellable);
  const existing = await streamIfAny(target, id, cancellable);
  if (existing !== undefined && !sameHeader(original, existing))
    throw new CopyConflictError(id, "has another header");
  const had = existing === undefined ? undefined : await measure(existing);
  const have = had?.events ?? 0;
  const { events, digest, prefix, torn } = await measure(original, have);
  if (existing !== undefined && have > events && mayHaveMore === true) {
    const begun = await measure(await target.stream(id, cancellable), events);
    if (begun.prefix === digest) return { id, state: "there", events, written: 0, digest, torn };
    throw new CopyConflictError(id, "has other events");
  }
  if (had !== undefined && have > events) throw new CopyConflictError(id, `has ${have - events} events more`);
  if (had !== undefined && prefix !== had.digest) throw new CopyConflictError(id, "has other events");
  if (events === 0) return { id, state: "empty", torn };
  if (have === events) return { id, state: "there", events, written: 0, digest, torn };

  const stream = await source.stream(id, cancellable);
  // An earlier copy may have been killed in the middle of a batch.
  let setTornAside = had?.torn === true;
  for await (const batch of batches(stream.pages, have, events)) {
    signal?.throwIfAborted();
    await target.importRecords(stream.headerText, batch, { setTornAside });
    setTornAside = false;
    onProgress?.(endOf(batch), events);
  }
  await verify(await target.stream(id, cancellable), original, digest);
  return { id, state: "copied", events, written: events - have, digest, torn };
}

/** The stored session of this id; nothing where there is none. */
export async function streamIfAny(
  store: SessionPersistence,
  id: string,
  options: Cancellable,
): Promise<SessionStream | undefined> {
  try {
    return await store.stream(id, options);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Reads a log to its end. @throws CorruptError */
export async function measure(
  stream: Pick<SessionStream, "pages" | "torn">,
  prefixLength = 0,
): Promise<Measure> {
  const digest = new LogDigest();
  let prefix = prefixLength === 0 ? digest.hex() : undefined;
  for await (const page of stream.pages) {
    await breathe();
    for (const { record } of page) {
      const end = record.seq + record.count;
      if (record.seq < prefixLength && prefixLength <= end) {
        digest.add(record, record.seq, prefixLength);
        prefix = digest.hex();
        if (prefixLength < end) digest.add(record, prefixLength);
      } else digest.add(record);
    }
  }
  return {
    events: digest.events,
    digest: digest.hex(),
    torn: stream.torn(),
    ...(prefix === undefined ? {} : { prefix }),
  };
}

/**
 * The records that hold the events from `from` to `to`, in batches. The source may have gone on since it was measured;
 * what came later is left to the next copy.
 */
export async function* batches(
  pages: AsyncIterable<ReadonlyArray<Pick<DecodedRecord, "record">>>,
  from: number,
  to: number,
): AsyncGenerator<SessionRecord[]> {
  let batch: SessionRecord[] = [];
  let length = 0;
  for await (const page of pages) {
    await breathe();
    for (const { record } of page) {
      if (record.seq >= to) break;
      if (record.seq + record.count <= from) continue;
      for (const part of record.seq < from ? restOf(record, from) : [record]) {
        if (batch.length > 0 && length + part.text.length > BATCH_LENGTH) {
          yield batch;
          batch = [];
          length = 0;
        }
        batch.push(part);
        length += part.text.length;
      }
    }
  }
  if (batch.length > 0) yield batch;
}

/** A run whose first members the target has, packed in another way: its other members. */
function restOf(record: SessionRecord, from: number): SessionRecord[] {
  return packBatch(
    recordEvents(record)
      .slice(from - record.seq)
      .map(encodeEvent),
  );
}

/** Seq after a batch. */
export function endOf(batch: readonly SessionRecord[]): number {
  const last = batch.at(-1);
  return last === undefined ? 0 : last.seq + last.count;
}

async function verify(
  written: SessionStream,
  original: Omit<SessionStream, "revision">,
  digest: string,
): Promise<void> {
  const found = await measure(written);
  if (found.digest === digest && sameHeader(original, written)) return;
  throw new CorruptError("The copy reads back as another session", {
    expected: `digest ${digest}`,
    found: `digest ${found.digest}`,
    place: { sessionId: original.header.id },
    hint: "Perhaps the source was replaced meanwhile. Delete the copy and copy again.",
  });
}

/**
 * Whether two stored headers say the same, unknown members included. A log file names its kind of record, and a depth
 * of 0; a row need not.
 */
function sameHeader(a: Pick<SessionStream, "headerText">, b: Pick<SessionStream, "headerText">): boolean {
  return Bun.deepEquals(comparable(a.headerText), comparable(b.headerText), true);
}

function comparable(headerText: string): unknown {
  // Both were read as headers, so they are objects.
  const { type: _, ...members }: Readonly<Record<string, unknown>> = JSON.parse(headerText);
  return { delegationDepth: 0, ...members };
}
