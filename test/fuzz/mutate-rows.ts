import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../bench/random.ts";
import { headerChecksum, recordChecksum } from "../../src/store/sqlite/keys.ts";
import { mutateText } from "./mutate-text.ts";
import { newFolder, readFiles, writeFiles } from "./store-files.ts";
import { DATABASE, type Files } from "./types.ts";

/* What is done to a database by SQL: rows that are whole for SQLite, and wrong. */

type RowMutation = (
  database: Database,
  random: Random,
) => { readonly step: string; readonly forged?: boolean };

interface Row {
  readonly id: number;
  readonly body: string;
  readonly sources: string | null;
}

const NUMBERS = [0, 1, -1, 5, 2 ** 32, Number.MAX_SAFE_INTEGER];

function someRow(database: Database, random: Random): Row {
  const { count } = database.query<{ count: number }, []>("SELECT count(*) AS count FROM records").get() ?? {
    count: 0,
  };
  const row = database
    .query<Row, [number]>("SELECT id, body, sources FROM records ORDER BY id LIMIT 1 OFFSET ?")
    .get(random.below(Math.max(1, count)));
  return row ?? { id: 0, body: "", sources: null };
}

const MUTATIONS: readonly RowMutation[] = [
  (database, random) => {
    const { id } = someRow(database, random);
    const count = random.pick([1, 1, 3, 20]);
    database.run("DELETE FROM records WHERE id >= ? AND id < ?", [id, id + count]);
    return { step: `delete the rows from ${id}, ${count} seqs` };
  },
  (database, random) => {
    const { id, body, sources } = someRow(database, random);
    // A text column keeps no bytes that are no text.
    const changed = mutateText(body, random, false).toString();
    const forged = random.below(3) > 0;
    const checksum = forged ? recordChecksum({ body: changed, sources }) : null;
    database.run("UPDATE records SET body = ?, checksum = coalesce(?, checksum) WHERE id = ?", [
      changed,
      checksum,
      id,
    ]);
    return { step: `change the body of row ${id}${forged ? " and its checksum" : ""}`, forged };
  },
  (database, random) => {
    const { id } = someRow(database, random);
    const sql = random.pick([
      "UPDATE records SET count = ? WHERE id = ?",
      "UPDATE records SET time = ? WHERE id = ?",
      "UPDATE records SET checksum = ? WHERE id = ?",
    ]);
    const value = random.pick(NUMBERS);
    database.run(sql, [value, id]);
    return { step: `${sql}: ${value}, ${id}` };
  },
  (database, random) => {
    const { id, body } = someRow(database, random);
    const sources = random.pick([
      "[[0,1]]",
      "[[1,0]]",
      "[]",
      "x",
      "[[0,4294967295]]",
      "[[0,1e9]]",
      "[[0,9007199254740991]]",
      '{"quoted":[]}',
      '{"quoted":[[-1,0,0,0]]}',
      '{"quoted":[[9,0,0,1]]}',
      '{"quoted":[[1e9,0,0,0]]}',
      '{"cited":[[0,1]],"quoted":[[9,0,0,9007199254740991]]}',
      null,
    ]);
    const checksum = recordChecksum({ body, sources });
    database.run("UPDATE records SET sources = ?, checksum = ? WHERE id = ?", [sources, checksum, id]);
    return { step: `row ${id}: sources = ${sources}, and its checksum`, forged: true };
  },
  (database, random) => {
    const quoting = database
      .query<Row, []>("SELECT id, body, sources FROM records WHERE sources LIKE '%quoted%' ORDER BY id")
      .all();
    if (quoting.length === 0) return { step: "nothing" };
    const { id, body, sources } = random.pick(quoting);
    const numbers = [...(sources ?? "").matchAll(/\d+/g)];
    const { index, 0: number } = random.pick(numbers);
    const other = String(Number(number) + random.pick([1, -1, 7, -7, 1_000]));
    const changed = `${sources?.slice(0, index)}${other}${sources?.slice(index + number.length)}`;
    const checksum = recordChecksum({ body, sources: changed });
    database.run("UPDATE records SET sources = ?, checksum = ? WHERE id = ?", [changed, checksum, id]);
    return { step: `row ${id}: quotes ${other} instead of ${number}, and its checksum`, forged: true };
  },
  (database, random) => {
    const sql = "SELECT id, body, frame FROM records WHERE frame IS NOT NULL ORDER BY id";
    const { version } = database
      .query<{ version: number }, []>("SELECT user_version AS version FROM pragma_user_version")
      .get() ?? { version: 0 };
    const segments =
      version < 3 ? [] : database.query<{ id: number; body: string; frame: Uint8Array }, []>(sql).all();
    if (segments.length === 0) return { step: "nothing" };
    const { id, body, frame } = random.pick(segments);
    const changed =
      random.below(4) === 0
        ? random.pick(segments).frame
        : mutateText(Buffer.from(Bun.zstdDecompressSync(frame)).toString(), random, false);
    const packed = changed instanceof Buffer ? Bun.zstdCompressSync(changed) : changed;
    const bytes = random.below(2) === 0 ? body : body.replace(/"bytes":\d+/, `"bytes":${changed.length}`);
    const checksum = Bun.hash.crc32(packed, Bun.hash.crc32(bytes));
    database.run("UPDATE records SET body = ?, frame = ?, checksum = ? WHERE id = ?", [
      bytes,
      packed,
      checksum,
      id,
    ]);
    return { step: `change the rows in segment ${id}, and its checksum`, forged: true };
  },
  (database, random) => {
    const { id } = someRow(database, random);
    const to = id + random.pick([1, -1, 2 ** 32, -(2 ** 32), 1_000, 2 ** 40]);
    database.run("UPDATE OR REPLACE records SET id = ? WHERE id = ?", [to, id]);
    return { step: `row ${id} becomes row ${to}` };
  },
  (database, random) => {
    const { id } = someRow(database, random);
    const to = id + random.pick([1, 7, 2 ** 32, 2 ** 40]);
    database.run(
      "INSERT OR REPLACE INTO records (id, count, type, time, body, sources, checksum) SELECT ?, count, type, time, body, sources, checksum FROM records WHERE id = ?",
      [to, id],
    );
    return { step: `row ${id} also becomes row ${to}` };
  },
  (database, random) => {
    const rows = database
      .query<{ number: number; key: string; header: string }, []>("SELECT number, key, header FROM sessions")
      .all();
    if (rows.length === 0) return { step: "nothing" };
    const { number, key, header } = random.pick(rows);
    const changed = mutateText(header, random, true).toString();
    const forged = random.below(3) > 0;
    const checksum = forged ? headerChecksum(key, changed) : null;
    database.run("UPDATE sessions SET header = ?, checksum = coalesce(?, checksum) WHERE number = ?", [
      changed,
      checksum,
      number,
    ]);
    return { step: `change the header of session ${number}${forged ? " and its checksum" : ""}`, forged };
  },
  (database, random) => {
    const sql = random.pick([
      "DELETE FROM sessions WHERE number = (SELECT min(number) FROM sessions)",
      "UPDATE sessions SET key = 'x\"y' WHERE number = (SELECT min(number) FROM sessions)",
      "UPDATE sessions SET key = 'a\\u12' WHERE number = (SELECT min(number) FROM sessions)",
      "UPDATE sessions SET number = number + 1000",
      "UPDATE OR IGNORE sessions SET number = -1 WHERE number = 1",
      "PRAGMA user_version = 1",
      "PRAGMA user_version = 4",
      "PRAGMA application_id = 1",
      "DROP VIEW session_events",
      "ALTER TABLE records ADD COLUMN extra TEXT",
      "CREATE TABLE other (x)",
      "CREATE INDEX by_type ON records (type)",
      "CREATE TRIGGER no_rows BEFORE INSERT ON records BEGIN SELECT raise(IGNORE); END",
      "UPDATE sqlite_sequence SET seq = 9223372036854775807",
      "PRAGMA journal_mode = DELETE",
      "UPDATE records SET type = 'x'",
    ]);
    database.run(sql);
    return { step: sql };
  },
];

/**
 * Changes a store by SQL. Its log is taken in first. @returns nothing where SQLite itself does not let it happen
 */
export function mutateRows(
  files: Files,
  random: Random,
): { readonly step: string; readonly forged: boolean } | undefined {
  const folder = newFolder("rows");
  try {
    writeFiles(folder, files);
    let done: ReturnType<RowMutation>;
    {
      using database = new Database(join(folder, DATABASE), { readwrite: true, create: false });
      database.run("PRAGMA synchronous = OFF");
      done = random.pick(MUTATIONS)(database, random);
    }
    files.clear();
    for (const [name, bytes] of readFiles(folder)) files.set(name, bytes);
    return { step: done.step, forged: done.forged === true };
  } catch {
    return undefined; // a constraint, or a database that was damaged before
  } finally {
    rmSync(folder, { recursive: true });
  }
}
