import { decodeOwnHeader } from "../cold-read.ts";
import type { CompactionResult, CompactOptions } from "../compactor.ts";
import type { FileSystem } from "../file-system.ts";
import { Draft, readBack } from "./compact-draft.ts";
import { COMPACT, EXPANDED, hasLargeFrames, looseFrom } from "./compact-layout.ts";
import { NewLog, openLog, type Pass, reading, Unreadable } from "./compact-source.ts";
import type { LogEntry } from "./directory.ts";
import { readHead } from "./head.ts";
import { type LogFile, toLogError } from "./log-file.ts";

export interface ReencodeOptions extends CompactOptions {
  readonly want: "compacted" | "expanded";
  /** Absent where nothing is to be written. */
  readonly system: FileSystem | undefined;
}

/**
 * Writes a log anew with the same lines in other frames, and its runs merged, and puts it in the place of the old one once
 * it was read back. The caller holds the lock, unless nothing is written.
 * @throws StorageFullError, StorageFailedError where it could not be written; then the old log is there whole.
 * SessionGoneError where it was deleted meanwhile
 */
export async function reencodeLog(
  entry: LogEntry,
  id: string,
  options: ReencodeOptions,
): Promise<CompactionResult> {
  try {
    using file = openLog(entry, id);
    return await reencode(file, id, options);
  } catch (error) {
    if (error instanceof Unreadable) return { id, state: "refused", error: error.reason };
    throw error;
  }
}

async function reencode(file: LogFile, id: string, options: ReencodeOptions): Promise<CompactionResult> {
  const { want, system, onProgress } = options;
  const head = reading(() => readHead(file));
  reading(() => decodeOwnHeader(id, head.headerText));
  const isLess = want === "compacted";
  const place = { path: file.path, sessionId: id };
  const from = reading(() => {
    if (isLess) return looseFrom(file, head.bodyOffset, place);
    return hasLargeFrames(file, head.bodyOffset) ? head.bodyOffset : undefined;
  });
  const before = file.size;
  const unchanged = { id, state: "unchanged", before, after: before } as const;
  if (from === undefined) return unchanged;
  const log = new NewLog(file, id, head, from, isLess ? COMPACT : EXPANDED);
  // Whether plain lines get fewer shows when they are packed; no disk is worn for it.
  const isCounted = system === undefined || file.encoding === "none";
  const part = sharesOf(onProgress, system === undefined ? 1 : isCounted ? 3 : 2);
  if (isCounted) {
    const after = await sizeOf(log, { ...options, onProgress: part() });
    if (isLess && after >= before) return unchanged;
    if (system === undefined) return { id, state: want, before, after, ...log.measure };
  }
  let draft: Draft | undefined;
  try {
    draft = new Draft(file, system);
    const after = await draft.write(log, { ...options, onProgress: part() });
    if (isLess && after >= before) {
      draft.discard();
      return unchanged;
    }
    await readBack(draft.path, file, id, log, { ...options, onProgress: part() });
    draft.publish();
    return { id, state: want, before, after, ...log.measure };
  } catch (error) {
    draft?.discard();
    if (error instanceof Unreadable || options.signal?.aborted === true) throw error;
    throw toLogError(error, "The log could not be written anew", file.path, id);
  }
}

/** For each of several passes, one after the other, how far all of them are. */
function sharesOf(onProgress: ((share: number) => void) | undefined, passes: number) {
  let done = -1;
  return () => {
    done += 1;
    const before = done;
    return (share: number) => onProgress?.((before + share) / passes);
  };
}

async function sizeOf(log: NewLog, pass: Pass): Promise<number> {
  let size = 0;
  for await (const piece of log.pieces(pass)) size += piece.length;
  return size;
}
