import type { SessionRecord } from "../../session/records.ts";
import { CorruptError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { MAX_EVENTS, recordChecksum } from "./keys.ts";
import { QuotedRows } from "./quoted-rows.ts";
import { readingFinding } from "./reading-finding.ts";
import { type DecodedRow, decodeRow, isRecordRow, type RecordRow } from "./rows.ts";
import selectNextSeq from "./sql/select-next-seq.sql" with { type: "text" };
import selectPage from "./sql/select-page.sql" with { type: "text" };
import { type WalkedTable, walkTable } from "./table-walk.ts";

/** Rows read at once, and the text of them in UTF-16 units; a single row may have more. */
const PAGE_ROWS = 256;
const PAGE_LENGTH = 1024 * 1024;
/** Numbers of sessions below it leave room for a seq in the id of a row. */
export const NUMBERS_END = 2 ** 31 - 1;

/** A row that is sound in itself. */
export interface SoundRow extends DecodedRow {
  readonly row: RecordRow;
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

/** The session that rows belong to. */
export interface Owner {
  readonly path: string;
  readonly id: string;
  readonly number: number;
}

/** Where a row lies: `row` is its id, by which a person finds it, unless a number cannot hold that. */
export function rowPlace({ path, id, number }: Owner, seq: number) {
  const row = number * MAX_EVENTS + seq;
  return { path, sessionId: id, ...(Number.isSafeInteger(row) && row >= 0 ? { row } : {}), seq };
}

/** The rows of one session that the table leads to, past what is damaged. Throws at no damage. See {@link wholeRows}. */
export function* walkRows(access: ReadAccess, owner: Owner): Generator<Walked> {
  const { number } = owner;
  if (!Number.isSafeInteger(number) || Math.abs(number) >= NUMBERS_END) return;
  for (const stretch of walkTable(access, recordsOf(number))) {
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
        rows.push(decoded === sound.decoded ? sound : { ...sound, decoded });
        continue;
      }
      if (rows.length > 0) yield { kind: "rows", rows };
      rows = [];
      const finding = findingOf("reference", decoded, rowPlace(owner, sound.row.seq));
      yield { kind: "damage", finding, row: sound.row, part: quoted.partOf(sound) };
    }
    if (rows.length > 0) yield { kind: "rows", rows };
  }
}

function recordsOf(session: number): WalkedTable {
  let length = 0;
  return {
    page: (database, from) => {
      length = 0;
      return database.query(selectPage).iterate({ session, from, limit: PAGE_ROWS });
    },
    isFull: (rows) => {
      const row = rows.at(-1);
      if (isRecordRow(row)) length += row.body.length;
      return rows.length >= PAGE_ROWS || length >= PAGE_LENGTH;
    },
    look: (database, from) => database.query(selectNextSeq).get({ session, from }),
    positionOf: seqOf,
    end: MAX_EVENTS,
  };
}

function seqOf(row: unknown): number | undefined {
  const seq: unknown = typeof row === "object" && row !== null && "seq" in row ? row.seq : undefined;
  return typeof seq === "number" ? seq : undefined;
}

/** Sound rows together, and each bad one by itself. */
function* judgeRows(rows: readonly unknown[], owner: Owner, from: number): Generator<Walked> {
  let sound: SoundRow[] = [];
  let least = from;
  for (const row of rows) {
    const judged = judgeRow(row, owner, least);
    const isLate = (seqOf(row) ?? least) < least;
    least = Math.max(least, (seqOf(row) ?? -1) + 1);
    if ("decoded" in judged) {
      sound.push(judged);
      continue;
    }
    if (sound.length > 0) yield { kind: "rows", rows: sound };
    sound = [];
    // A row out of order is another one's double, or has no place at all.
    yield { kind: "damage", finding: judged, ...(isLate ? {} : { row }) };
  }
  if (sound.length > 0) yield { kind: "rows", rows: sound };
}

function judgeRow(row: unknown, owner: Owner, least: number): SoundRow | Finding {
  const seq = seqOf(row) ?? least;
  const place = rowPlace(owner, seq);
  if (!isRecordRow(row)) {
    const found = describeTypes(row);
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
    return { row, ...decodeRow(row, owner.id, owner.path) };
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    const isIntact = recordChecksum(row) === row.checksum;
    return findingOf(isIntact ? "malformed" : "damaged", error, place);
  }
}

function describeTypes(row: unknown): string {
  const types = Object.entries(Object(row)).map(([name, value]) => {
    if (value instanceof Uint8Array) return `${name} blob`;
    return `${name} ${value === null ? "null" : typeof value}`;
  });
  return types.join(", ");
}
