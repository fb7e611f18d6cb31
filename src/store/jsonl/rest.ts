import type { DecodedRecord } from "../../session/records.ts";
import type { QuarantineWriter } from "../quarantine.ts";
import { checkLines } from "./check-lines.ts";
import type { LogFile } from "./log-file.ts";
import { type SoundStretch, type StretchStart, stretchesOf } from "./resync.ts";

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
  /** Bytes of the file; `isEmpty` where they are a sound frame that holds nothing. */
  | { readonly kind: "bytes"; readonly offset: number; readonly end: number; readonly isEmpty?: true };

/** Bytes read at once. */
const WINDOW = 1024 * 1024;

/** Everything from `start` to the end of the file. */
export function* restOf(file: LogFile, { offset, row, skip }: CutStart): Generator<RestPiece> {
  let kept = skip;
  for (const stretch of stretchesOf(file, { offset, row }, false)) {
    if (stretch.kind === "bad") yield { kind: "bytes", offset: stretch.offset, end: stretch.end };
    else if (file.encoding === "none") yield* plainLines(stretch);
    else yield* framedLines(stretch, kept);
    kept = 0;
  }
}

function* plainLines({ offset, content }: SoundStretch): Generator<RestPiece> {
  for (const { start, end, text, record } of checkLines(content)) {
    if (text === undefined) yield { kind: "bytes", offset: offset + start, end: offset + end };
    else {
      const line = { kind: "line", offset: offset + start, length: end - start, text, isNew: true } as const;
      yield record === undefined ? line : { ...line, record };
    }
  }
}

function* framedLines({ offset, end, content, row }: SoundStretch, skip: number): Generator<RestPiece> {
  const place = { offset, length: end - offset, ...(row === undefined ? {} : { row }) };
  // A frame of nothing has bytes all the same.
  if (content.length === 0) yield { kind: "bytes", offset, end, isEmpty: true };
  let index = 0;
  for (const line of checkLines(content)) {
    const isNew = index === skip;
    index += 1;
    if (index <= skip) continue;
    const { text, record } = line;
    if (text === undefined) {
      yield { kind: "unfolded", ...place, bytes: content.subarray(line.start, line.end), isNew };
    } else yield { kind: "line", ...place, text, isNew, ...(record === undefined ? {} : { record }) };
  }
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
