import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { damage, makeStore, rewriteBody, rewriteHeader, SEQ } from "../fixtures/damaged-store.ts";
import { type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const CORRUPT = 5;
const UNSUPPORTED = 7;
const FAILED = 1;

/** One message: what happened, where, and what to do. */
const ONE_MESSAGE = /^holdfast: [^\n]+\n {2}where: [^\n]+\n {2}hint: [^\n]+\n$/;

/** Starts a Host that must refuse its store, and sees that nothing in the folder changed. */
async function refuse(folder: TempFolder, store: string): Promise<Finished> {
  const before = await folderState(folder.path);
  const finished = await runHoldfast(["serve", "--port", "0", "--session-db", folder.at(store)]);
  expect(finished.stdout).toBe("");
  expect(finished.stderr).toMatch(ONE_MESSAGE);
  expect(await folderState(folder.path)).toEqual(before);
  return finished;
}

const DAMAGE: ReadonlyArray<readonly [string, number, RegExp, (database: Database) => void]> = [
  [
    "JSON that is cut off in a row",
    CORRUPT,
    /not JSON.*seq 8/s,
    (database) => rewriteBody(database, SEQ.message, /.{20}$/, ""),
  ],
  [
    "a number that no JSON can hold, such as 1e999",
    CORRUPT,
    /without loss.*seq 8/s,
    (database) => rewriteBody(database, SEQ.message, '"turn":1', '"turn":1e999'),
  ],
  [
    "an event without a required member",
    CORRUPT,
    /malformed.*seq 1, event user\/message/s,
    (database) => rewriteBody(database, SEQ.userMessage, '"role":"user",', ""),
  ],
  [
    "an event of an unknown type that must be understood",
    UNSUPPORTED,
    /unknown type "future\/thing".*seq 10/s,
    (database) => {
      rewriteBody(database, SEQ.last, "turn/end", "future/thing");
      database.run(`UPDATE records SET type = 'future/thing' WHERE seq = ${SEQ.last}`);
    },
  ],
  [
    "a gap in the seqs",
    CORRUPT,
    /missing.*expected seq 3, found seq 8/s,
    (database) => database.run(`DELETE FROM records WHERE seq = ${SEQ.run}`),
  ],
  [
    "a log that does not begin at seq 0",
    CORRUPT,
    /missing.*expected seq 0, found seq 1/s,
    (database) => database.run("DELETE FROM records WHERE seq = 0"),
  ],
  [
    "an event that stands twice",
    CORRUPT,
    /twice.*expected seq 8, found seq 5/s,
    (database) => {
      database.run(`INSERT INTO records (id, count, type, time, body, sources, checksum)
        SELECT id - 4, count, type, time, body, sources, checksum FROM records WHERE seq = 9`);
      rewriteBody(database, 5, '"seq":9', '"seq":5');
    },
  ],
  [
    "a changed byte in a row",
    CORRUPT,
    /checksum of a row.*seq 1/s,
    (database) => rewriteBody(database, SEQ.userMessage, "need", "nEed", { fixChecksum: false }),
  ],
  [
    "a changed byte in the session's header",
    CORRUPT,
    /checksum of the session header/,
    (database) => database.run("UPDATE sessions SET header = replace(header, '17', '18')"),
  ],
  [
    "the header of another session",
    CORRUPT,
    /belongs to another session.*expected the id "default", found "mine"/s,
    (database) => rewriteHeader(database, '"default"', '"mine"'),
  ],
  [
    "a header that is not JSON",
    CORRUPT,
    /header is not JSON/,
    (database) => rewriteHeader(database, '{"version"', '"version"'),
  ],
  [
    "a session of a newer format",
    UNSUPPORTED,
    /format version 1.*newer version of Holdfast/s,
    (database) => rewriteHeader(database, '"version":0', '"version":1'),
  ],
  [
    "a column type that differs from the body",
    CORRUPT,
    /column type.*seq 9/s,
    (database) => database.run("UPDATE records SET type = 'turn/start' WHERE seq = 9"),
  ],
  [
    "a column time that differs from the body",
    CORRUPT,
    /column time.*seq 9/s,
    (database) => database.run("UPDATE records SET time = time + 1 WHERE seq = 9"),
  ],
  [
    "a column count that differs from the body",
    CORRUPT,
    /column count.*expected 5, found 4/s,
    (database) => database.run(`UPDATE records SET count = 4 WHERE seq = ${SEQ.run}`),
  ],
  [
    "a table of another shape",
    CORRUPT,
    /table sessions has another shape/,
    (database) => database.run("ALTER TABLE sessions ADD COLUMN extra TEXT"),
  ],
  [
    "a newer schema",
    UNSUPPORTED,
    /schema version 4.*newer version of Holdfast/s,
    (database) => database.run("PRAGMA user_version = 4"),
  ],
  [
    "a schema version that never was",
    CORRUPT,
    /header of the database is damaged: expected schema version 1 to 3, found 0.*sessions repair/s,
    (database) => database.run("PRAGMA user_version = 0"),
  ],
  [
    "the application id of another program",
    UNSUPPORTED,
    /another application/,
    (database) => database.run("PRAGMA application_id = 42"),
  ],
];

describe("a store is refused, and left as it is, for", () => {
  test.each(DAMAGE)("%s", async (_, code, message, change) => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("agent.db"));
    damage(folder.at("agent.db"), change);
    const finished = await refuse(folder, "agent.db");
    expect(finished.stderr).toMatch(message);
    expect(finished.code).toBe(code);
  });

  test("garbage in its pages", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("agent.db"));
    const bytes = await Bun.file(folder.at("agent.db")).bytes();
    bytes.fill(0xa5, 4096);
    await writeFile(folder.at("agent.db"), bytes);
    expect((await refuse(folder, "agent.db")).code).toBe(CORRUPT);
  });

  test.each([
    ["a table", "CREATE TABLE notes (text TEXT)"],
    ["a view", "CREATE VIEW notes AS SELECT 1"],
  ])("a database of nobody's that holds %s", async (_, sql) => {
    await using folder = await TempFolder.create();
    new Database(folder.at("notes.db")).run(sql);
    const finished = await refuse(folder, "notes.db");
    expect(finished.stderr).toContain("was not made by Holdfast");
    expect(finished.code).toBe(UNSUPPORTED);
  });

  test("a text file", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("notes.txt"), "Remember the milk.\n".repeat(100));
    const finished = await refuse(folder, "notes.txt");
    expect(finished.stderr).toContain("not a SQLite database");
    expect(finished.code).toBe(UNSUPPORTED);
  });

  test("a folder", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("keep"), "");
    const finished = await refuse(folder, ".");
    expect(finished.stderr).toContain("is a folder");
    expect(finished.code).toBe(FAILED);
  });

  test("a path below a file", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("notes.txt"), "Remember the milk.\n");
    expect((await refuse(folder, "notes.txt/agent.db")).code).toBe(FAILED);
  });
});
