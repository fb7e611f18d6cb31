import { constants, Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { decodeRecord } from "../../src/session/records.ts";
import { recordChecksum, sessionKey } from "../../src/store/sqlite/keys.ts";
import type { RowText } from "../../src/store/sqlite/row-text.ts";
import { StreamedBlocks } from "../../src/store/sqlite/streamed-blocks.ts";
import { AllowedRecords } from "./allowed.ts";
import { describe, need } from "./fault.ts";
import type { Reading } from "./reading.ts";
import { newFolder, writeFiles } from "./store-files.ts";
import { DATABASE, type Input, LEAST_QUOTED, type OriginalRecord } from "./types.ts";

/*
 * What may be read of damaged databases. Every row has a checksum: what is read must be what was once written, unless it
 * was changed with its checksum. Where SQLite finds its file sound, all rows must be read or refused. Rows that are gone
 * from the end of a session, and commits that are gone with the end of the log, cannot be missed: docs/durability.md,
 * "Known limits".
 */

interface RawRow {
  readonly id: number;
  readonly count: unknown;
  readonly type: unknown;
  readonly time: unknown;
  readonly body: unknown;
  readonly sources: unknown;
  readonly checksum: unknown;
  readonly frame?: unknown;
}

/** What SQLite itself gives of a store. */
export interface RawStore {
  /** Whether SQLite finds nothing wrong with the file. */
  readonly isSound: boolean;
  readonly rows: ReadonlyMap<number, readonly RawRow[]>;
  /** Numbers of the sessions by their keys. */
  readonly sessions: ReadonlyMap<unknown, number>;
}

const NOTHING: RawStore = { isSound: false, rows: new Map(), sessions: new Map() };

/** Reads a copy of the files with SQLite alone. */
export function readRaw({ files }: Input): RawStore {
  if (!files.has(DATABASE)) return NOTHING;
  const folder = newFolder("raw");
  try {
    writeFiles(folder, files);
    using database = new Database(join(folder, DATABASE), constants.SQLITE_OPEN_READWRITE);
    const checked = database.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
    // A page that leads to itself has no last row.
    if (checked.length !== 1 || checked[0]?.integrity_check !== "ok") return NOTHING;
    const rows = new Map<number, RawRow[]>();
    for (const row of database.query<RawRow, []>("SELECT * FROM records ORDER BY id").all()) {
      const session = Math.floor(row.id / 2 ** 32);
      const list = rows.get(session) ?? [];
      list.push(...unpacked(row));
      rows.set(session, list);
    }
    const sessions = database
      .query<{ number: number; key: unknown }, []>("SELECT number, key FROM sessions")
      .all();
    return {
      isSound: true,
      rows,
      sessions: new Map(sessions.map(({ number, key }) => [key, number])),
    };
  } catch {
    return NOTHING;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The rows that a sound segment stands for, or the row itself. Source: docs/format.md, "Segments". */
function unpacked(row: RawRow): readonly RawRow[] {
  const { id, count, type, time, body, checksum, frame } = row;
  if (!(frame instanceof Uint8Array) || typeof body !== "string") return [row];
  if (Bun.hash.crc32(frame, Bun.hash.crc32(body)) !== checksum || type !== "segment") return [row];
  const session = Math.floor(id / 2 ** 32);
  try {
    const { seq0, time0, data } = JSON.parse(body);
    const text = Buffer.from(Bun.zstdDecompressSync(frame)).toString();
    const rows = text.split("\x1e").slice(1);
    if (seq0 !== id % 2 ** 32 || time0 !== time || data.count !== count) return [row];
    if (data.rows !== rows.length || data.bytes !== Buffer.byteLength(text) || !text.startsWith("\x1e"))
      return [row];
    return rows.map((own) => {
      const [text = "", sources = null] = own.slice(0, -1).split("\x1f");
      const { seq, text: _, ...columns } = decodeRecord(text, {}).record;
      const checksum = recordChecksum({ body: text, sources });
      return { id: session * 2 ** 32 + seq, ...columns, body: text, sources, checksum };
    });
  } catch {
    return [row];
  }
}

/** @throws Fault */
export function checkRowReading(input: Input, raw: RawStore, reading: Reading): void {
  const { id, records, error, torn } = reading;
  need(!torn, "a row is there or not", () => `${id} is called torn`);
  if (!input.forged) {
    const allowed = AllowedRecords.of(input);
    const wrong = records.find((record) => !allowed.has(record));
    need(
      wrong === undefined,
      "what is read was written",
      () => `${id}: seq ${wrong?.seq} is ${wrong?.text.slice(0, 300)}`,
    );
  }
  const number = raw.sessions.get(sessionKey(id));
  if (number === undefined || !raw.isSound) return;
  const rows = raw.rows.get(number) ?? [];
  for (const [k, { text }] of records.entries()) {
    const row = rows[k];
    const isSame = row !== undefined && (row.sources === null ? row.body === text : true);
    need(isSame, "what is read is what the rows say", () => `${id}: record ${k} is not row ${row?.id}`);
  }
  const sound = soundRows(input, reading, rows);
  need(
    records.length >= sound,
    "what precedes the damage is read",
    () =>
      `${id}: ${records.length} records, and ${sound} are sound; ${error === undefined ? "" : describe(error)}`,
  );
  if (error === undefined) {
    need(
      records.length === rows.length,
      "nothing is passed over in silence",
      () => `${id}: ${records.length} of ${rows.length} rows`,
    );
  }
}

/** How many rows at the beginning are those of the session that was there; 0 where its header is another. */
function soundRows({ originals }: Input, { id, headerText }: Reading, rows: readonly RawRow[]): number {
  const original = originals.find((one) => one.id === id && one.headerText === headerText);
  const records = original?.records ?? [];
  const streamed = new StreamedBlocks(LEAST_QUOTED);
  let count = 0;
  for (; count < rows.length; count += 1) {
    const [row, record] = [rows[count], records[count]];
    if (row === undefined || record === undefined) break;
    const split = streamed.split(0, decodeRecord(record.text, {}).record);
    if (!isRowOf(row, record, split)) break;
  }
  return count;
}

function isRowOf(row: RawRow, { seq, count, text }: OriginalRecord, { body, sources }: RowText): boolean {
  const { type, time } = decodeRecord(text, {}).record;
  const checksum = recordChecksum({ body, sources });
  const isSame = row.body === body && row.sources === sources && row.checksum === checksum;
  return isSame && row.id % 2 ** 32 === seq && row.count === count && row.type === type && row.time === time;
}
