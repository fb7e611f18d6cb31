import { Database } from "bun:sqlite";

/* Stands in for the sqlite3 shell on a machine without one: `sqlite3 FILE STATEMENT`, and `.backup FILE`. */

const [path = "", statement = ""] = process.argv.slice(2);
using database = new Database(path, { readwrite: true, create: false });
const backup = /^\.backup\s+(\S+)$/.exec(statement.trim())?.[1];
if (backup !== undefined) database.query("VACUUM INTO ?").run(backup);
else {
  for (const row of database.query(statement).values()) {
    process.stdout.write(`${row.map((value) => value ?? "").join("|")}\n`);
  }
}
