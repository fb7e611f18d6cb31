import type { DecodedRecord } from "../../session/records.ts";
import { type Pause, pause } from "../breathe.ts";
import type { QuarantineWriter } from "../quarantine.ts";
import { checkLines, textOfLine } from "./check-lines.ts";
import type { LogFile } from "./log-file.ts";
import { type BadStretch, type SoundStretch, type StretchStart, stretchesOf } from "./resync.ts";

/* What a repair cuts off, piece by piece as it goes into quarantine: nothing is left out. */

export interface CutStart extends StretchStart {
  /** Lines of the frame there that are kept. */
  readonly skip: number;
}

export type RestPiece =
  /** A line that can be read; a record where it is one. */
  | {
      readonly kind: "line";
      readonly offset: number;
      readonly length: number;
      readonly row?: number;
      readonly text: string;
      readonly record?: DecodedRecord;
      /** Whether it is the first piece of its frame. */
      readonly isNew: boolean;
    }
  /** A line of a sound frame that is not UTF-8. */
  | {
      readonly kind: "unfolded";
      readonly offset: number;
      readonly length: number;
      readonly row?: number;
      readonly bytes: Buffer;
      readonly isNew: boolean;
    }
  /** Bytes of the file; `isSound` where they are a sound frame in which there is nothing to be read. */
  | { readonly kind: "bytes"; readonly offset: number; readonly end: number; readonly isSound?: true };

/** Bytes read at once. */
const WINDOW = 1024 * 1024;
/** A frame that unfolds to more than this, and to more than so many times its size, is not spelled out for nothing. */
const MUCH = 1024 * 1024;
const FOLDED = 16;

/** Everything from `start` to the end of the file. */
export function* restOf(file: LogFile, { offset, row, skip }: CutStart): Generator<RestPiece | Pause> {
  let kept = skip;
  for (const stretch of stretchesOf(file, { offset, row }, false)) {
    if (stretch.kind === "pause") {
      yield stretch;
      continue;
    }
    if (stretch.kind === "bad") yield* badBytes(stretch);
    else if (file.encoding === "none") yield* plainLines(stretch);
    else yield* framedLines(stretch, kept);
    kept = 0;
  }
}

/** The first piece, if there is one. */
export function firstPiece(file: LogFile, start: CutStart): RestPiece | undefined {
  for (const piece of restOf(file, start)) if (piece.kind !== "pause") return piece;
  return undefined;
}

function* badBytes({ offset, end }: BadStretch): Generator<RestPiece | Pause> {
  for (let at = offset; at < end; at += WINDOW) {
    const until = Math.min(at + WINDOW, end);
    yield { kind: "bytes", offset: at, end: until };
    yield pause(until - at);
  }
}

function* plainLines({ offset, content }: SoundStretch): Generator<RestPiece | Pause> {
  for (const line of checkLines(content)) {
    const { start, end, record } = line;
    const text = textOfLine(content, line);
    if (text === undefined) yield { kind: "bytes", offset: offset + start, end: offset + end };
    else {
      const piece = { kind: "line", offset: offset + start, length: end - start, text, isNew: true } as const;
      yield record === undefined ? piece : { ...piece, record };
    }
  }
  yield pause(content.length);
}

function* framedLines(
  { offset, end, content, row }: SoundStretch,
  skip: number,
): Generator<RestPiece | Pause> {
  const place = { offset, length: end - offset, ...(row === undefined ? {} : { row }) };
  // A frame of nothing has bytes all the same; and a few bytes may unfold to as many zeros as a disk holds.
  if (content.length === 0 || (skip === 0 && (yield* isMuchOfNothing(content, end - offset)))) {
    yield { kind: "bytes", offset, end, isSound: true };
    return;
  }
  let index = 0;
  for (const line of checkLines(content)) {
    yield pause(line.end - line.start);
    const isNew = index === skip;
    index += 1;
    if (index <= skip) continue;
    const { record } = line;
    const text = textOfLine(content, line);
    if (text === undefined) {
      yield { kind: "unfolded", ...place, bytes: content.subarray(line.start, line.end), isNew };
    } else yield { kind: "line", ...place, text, isNew, ...(record === undefined ? {} : { record }) };
  }
}

function* isMuchOfNothing(content: Buffer, stored: number): Generator<Pause, boolean> {
  if (content.length <= MUCH || content.length <= FOLDED * stored) return false;
  for (const { start, end, record } of checkLines(content)) {
    yield pause(end - start);
    if (record !== undefined) return false;
  }
  return true;
}

/** Puts a piece into a quarantine file. */
export function setPieceAside(writer: QuarantineWriter, file: LogFile, piece: RestPiece): void {
  if (piece.kind === "bytes") {
    for (let at = piece.offset; at < piece.end; at += WINDOW) {
      writer.bytes(at, file.read(at, Math.min(WINDOW, piece.end - at)));
    }
  } else if (piece.kind === "unfolded") writer.unfolded(piece, piece.bytes, piece.isNew);
  else {
    const { offset, length, row, text, record, isNew } = piece;
    const seq = record?.record.seq;
    writer.text(
      { offset, length, text, ...(row === undefined ? {} : { row }), ...(seq === undefined ? {} : { seq }) },
      isNew,
    );
  }
}
