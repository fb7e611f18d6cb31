import type { DecodedRecord, SessionRecord } from "../../session/records.ts";
import { CorruptError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { MAX_EVENTS, rowChecksum } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { readingFinding } from "./reading-finding.ts";
import { recordsOf, seqOf } from "./record-table.ts";
import { type DecodedRow, decodeRow, isRecordRow, type Owner, type RecordRow } from "./rows.ts";
import { isSegment, Segment } from "./segment.ts";
import { walkTable } from "./table-walk.ts";

/** Numbers of sessions below it leave room for a seq in the id of a row. */
export const NUMBERS_END = 2 ** 31 - 1;

/** A row that is sound in itself. */
export interface SoundRow extends DecodedRow {
  readonly row: RecordRow;
  /** Seq of the segment that it lies in, if it does. */
  readonly segment?: number;
}

/** A stretch of a session's rows, in the order of the table. */
export type Walked =
  | { readonly kind: "rows"; readonly rows: readonly SoundRow[] }
  /** `row` holds the columns where they can be read; `part` is what is left of a record that quotes what is lost. */
  | {
      readonly kind: "damage";
      readonly finding: Finding;
      readonly row?: unknown;
      readonly part?: SessionRecord;
    };

/**
 * Where a row lies: `row` is its id, by which a person finds it, unless a number cannot hold that.
 * @param at seq of the segment that it lies in
 */
export function rowPlace({ path, id, number }: Owner, seq: number, at = seq) {
  const row = number * MAX_EVENTS + at;
  return { path, sessionId: id, ...(Number.isSafeInteger(row) && row >= 0 ? { row } : {}), seq };
}

/** The rows of one session that the table leads to, past what is damaged. Throws at no damage. See {@link wholeRows}. */
export function* walkRows(access: ReadAccess, owner: Owner): Generator<Walked> {
  const { number } = owner;
  if (!Number.isSafeInteger(number) || Math.abs(number) >= NUMBERS_END) return;
  for (const stretch of walkTable(access, recordsOf(owner))) {
    const { from } = stretch;
    if (stretch.kind === "rows") yield* judgeRows(stretch.rows, owner, from);
    else {
      const { next, error } = stretch;
      const until = next === undefined ? "" : ` to seq ${next - 1}`;
      const what =
        next === from + 1 ? "A row cannot be read" : `Rows cannot be read from seq ${from}${until}`;
      yield { kind: "damage", finding: readingFinding(error, what, rowPlace(owner, from)) };
    }
  }
}

/**
 * The same rows, each with its whole text. A row that quotes deltas which are not among them is damage too. What was read
 * in several ways is put in order first: the deltas may lie elsewhere than the row.
 */
export function* wholeRows(walk: Iterable<Walked>, owner: Owner): Generator<Walked> {
  const quoted = new QuotedRows({ path: owner.path, sessionId: owner.id });
  for (const walked of walk) {
    if (walked.kind === "damage") {
      yield walked;
      continue;
    }
    let rows: SoundRow[] = [];
    for (const sound of walked.rows) {
      const decoded = quoted.tryTake(sound);
      if (!(decoded instanceof CorruptError)) {
        rows.push(decoded === sound.decoded ? sound : withRecord(sound, decoded));
        continue;
      }
      if (rows.length > 0) yield { kind: "rows", rows };
      rows = [];
      const place = rowPlace(owner, sound.row.seq, sound.segment);
      const finding = findingOf("reference", decoded, place);
      yield { kind: "damage", finding, row: sound.row, part: quoted.partOf(sound) };
    }
    if (rows.length > 0) yield { kind: "rows", rows };
  }
}

function withRecord({ row, checksum, sources, segment }: SoundRow, decoded: DecodedRecord): SoundRow {
  return {
    row,
    decoded,
    checksum,
    ...(sources === undefined ? {} : { sources }),
    ...(segment === undefined ? {} : { segment }),
  };
}

/** Sound rows together, and each bad one by itself. */
function* judgeRows(rows: readonly unknown[], owner: Owner, from: number): Generator<Walked> {
  let sound: SoundRow[] = [];
  let least = from;
  for (const row of rows) {
    const judged = judgeRow(row, owner, least);
    const isLate = (seqOf(row) ?? least) < least;
    least = Math.max(least, (seqOf(row) ?? -1) + 1);
    if (Array.isArray(judged)) {
      sound.push(...judged);
      continue;
    }
    if (sound.length > 0) yield { kind: "rows", rows: sound };
    sound = [];
    // A row out of order is another one's double, or has no place at all.
    yield { kind: "damage", finding: judged, ...(isLate ? {} : { row: columnsOf(row) }) };
  }
  if (sound.length > 0) yield { kind: "rows", rows: sound };
}

/** The columns of a row; a plain one has no frame. */
function columnsOf(row: unknown): unknown {
  const { frame, ...columns } = Object(row) as Readonly<Record<string, unknown>>;
  return frame === null ? columns : row;
}

/** What a row stands for, or what is wrong with it. */
function judgeRow(row: unknown, owner: Owner, least: number): SoundRow[] | Finding {
  const seq = seqOf(row) ?? least;
  const place = rowPlace(owner, seq);
  if (!isRecordRow(row)) {
    const found = describeTypes(columnsOf(row));
    return {
      code: "damaged",
      message: "A row has other types",
      place,
      expected: "those of the table",
      found,
    };
  }
  if (seq < least) {
    // Only where the tree of the table is damaged.
    const [expected, found] = [`seq ${least} or later`, `seq ${seq}`];
    return { code: "damaged", message: "A row is out of order", place, expected, found };
  }
  try {
    return soundRows(row, owner);
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    const isIntact = rowChecksum(row) === row.checksum;
    return findingOf(isIntact ? "malformed" : "damaged", error, place);
  }
}

/** The rows that a row stands for: those of a segment, or itself. @throws CorruptError */
export function soundRows(row: RecordRow, { path, id }: Owner): SoundRow[] {
  if (isSegment(row)) return [...new Segment(row, { path, sessionId: id, seq: row.seq }).rows()];
  return [{ row, ...decodeRow(row, id, path) }];
}

function describeTypes(row: unknown): string {
  const types = Object.entries(Object(row)).map(([name, value]) => {
    if (value instanceof Uint8Array) return `${name} blob`;
    return `${name} ${value === null ? "null" : typeof value}`;
  });
  return types.join(", ");
}
