import type { Place } from "../session/errors.ts";
import type { SessionHeader } from "../session/header.ts";
import { type DecodedRecord, decodeRecord } from "../session/records.ts";
import { breathe } from "./breathe.ts";
import { decodeOwnHeader } from "./cold-read.ts";
import { CorruptError, HoldfastError } from "./errors.ts";
import type { Examined, ExaminedDamage, ExaminedRecords, ExaminedSession } from "./examiner.ts";
import { type Finding, findingOf } from "./finding.ts";
import type { SqlValue } from "./quarantine.ts";
import { type QuarantineItem, QuarantineReader } from "./quarantine-reader.ts";
import { headerChecksum, MAX_EVENTS, sessionIdOf } from "./sqlite/keys.ts";
import { QuotedRows } from "./sqlite/quoted-rows.ts";
import { decodeRow, isRecordRow, isSessionRow } from "./sqlite/rows.ts";

/* What a quarantine file holds, as an examiner would give it out. */

/** Records that are given out together. */
const PAGE = 256;

/** A session whose records are in the file: all of them, or the rows of one number. */
interface Owner {
  readonly id: string;
  readonly number?: number;
  readonly headerText?: string;
  readonly header?: SessionHeader;
}

/**
 * The sessions of a quarantine file. Rows of several sessions are told apart by their numbers; those of which no header
 * is there are named after them.
 * @throws CorruptError, UnsupportedFormatError, StorageFailedError
 */
export function examineQuarantine(path: string): readonly ExaminedSession[] {
  return ownersIn(path).map((owner) => {
    const { id, headerText, header } = owner;
    return {
      id,
      location: path,
      findings: [],
      ...(headerText === undefined ? {} : { headerText }),
      ...(header === undefined ? {} : { header }),
      items: () => itemsOf(path, owner),
    };
  });
}

function ownersIn(path: string): readonly Owner[] {
  using reader = new QuarantineReader(path);
  const { session } = reader.head;
  if (session !== undefined) return [{ id: session }];
  const owners = new Map<number, Owner>();
  for (const item of reader.items()) {
    if (item.kind !== "row") continue;
    const { values } = item;
    const row = { ...values, number: values["number"] ?? values["rowid"] };
    if (isSessionRow(row)) owners.set(row.number, ownerOf(row));
    const number = "body" in values ? numberOf(values) : undefined;
    if (number !== undefined && !owners.has(number)) owners.set(number, { id: `session-${number}`, number });
  }
  return [...owners.values()];
}

function ownerOf(row: { number: number; key: string; header: string; checksum: number }): Owner {
  const unnamed = { id: `session-${row.number}`, number: row.number };
  try {
    const id = sessionIdOf(row.key);
    if (headerChecksum(row.key, row.header) !== row.checksum) return { ...unnamed, id };
    return { ...unnamed, id, headerText: row.header, header: decodeOwnHeader(id, row.header) };
  } catch {
    return unnamed; // neither key nor header can be read
  }
}

function numberOf({ rowid }: Readonly<Record<string, SqlValue>>): number | undefined {
  if (typeof rowid === "bigint") return Number(rowid >> 32n);
  return typeof rowid === "number" ? Math.floor(rowid / MAX_EVENTS) : undefined;
}

async function* itemsOf(path: string, owner: Owner): AsyncGenerator<Examined> {
  using reader = new QuarantineReader(path);
  const quoted = new QuotedRows({ path, sessionId: owner.id });
  let page: Array<{ readonly decoded: DecodedRecord; readonly place: Place }> = [];
  for (const item of reader.items()) {
    const read = readItem(item, owner, path, quoted);
    if (read === undefined) continue;
    if ("decoded" in read) page.push(read);
    if (page.length >= PAGE || ("finding" in read && page.length > 0)) {
      yield pageOf(page);
      page = [];
      await breathe();
    }
    if ("finding" in read) yield read;
  }
  if (page.length > 0) yield pageOf(page);
}

function pageOf(
  page: ReadonlyArray<{ readonly decoded: DecodedRecord; readonly place: Place }>,
): ExaminedRecords {
  return {
    kind: "records",
    records: page.map(({ decoded }) => decoded),
    placeOf: (k) => page[k]?.place ?? {},
  };
}

/** The record in a piece, or why there is none; nothing where the piece belongs to another session. */
function readItem(
  item: QuarantineItem,
  { id, number }: Owner,
  path: string,
  quoted: QuotedRows,
): { readonly decoded: DecodedRecord; readonly place: Place } | ExaminedDamage | undefined {
  if (item.kind === "damage") return item;
  if (item.kind === "bytes") {
    const { offset } = item;
    const place = { path, sessionId: id, offset };
    return damage({ code: "damaged", message: "Bytes that yield no record", place });
  }
  try {
    if (item.kind === "text") {
      const { offset, row, text } = item;
      const place = { path, sessionId: id, offset, ...(row === undefined ? {} : { row }) };
      return { decoded: decodeRecord(text, place), place };
    }
    const { values } = item;
    const rowNumber = "body" in values ? numberOf(values) : undefined;
    if (rowNumber === undefined || (number !== undefined && rowNumber !== number)) return undefined;
    const seq = Number(BigInt(String(values["rowid"])) % BigInt(MAX_EVENTS));
    const row = { ...values, seq };
    const place = { path, sessionId: id, seq };
    if (!isRecordRow(row)) return damage({ code: "damaged", message: "A row has other types", place });
    const stored = decodeRow(row, id, path);
    const decoded = quoted.tryTake(stored);
    if (!(decoded instanceof CorruptError)) return { decoded, place };
    return { ...damage(findingOf("reference", decoded, place)), part: quoted.partOf(stored) };
  } catch (error) {
    if (error instanceof CorruptError) return damage(findingOf("damaged", error, { path, sessionId: id }));
    if (error instanceof HoldfastError)
      return damage({ code: "damaged", message: error.message, place: error.place });
    throw error;
  }
}

function damage(finding: Finding): ExaminedDamage {
  return { kind: "damage", finding };
}
