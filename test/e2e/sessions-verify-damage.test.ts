import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { unitOffsets } from "../fixtures/log-files.ts";
import { headerText, plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** A store in a folder of its own, and what verify says of it. */
class Damaged implements AsyncDisposable {
  readonly folder: TempFolder;

  private constructor(folder: TempFolder) {
    this.folder = folder;
  }

  static async create(): Promise<Damaged> {
    return new Damaged(await TempFolder.create());
  }

  /** Path of the log of the session `s`. */
  log(encoding: "zstd" | "none"): string {
    return this.folder.at("logs", "--srv-x--", "s", `session.jsonl${encoding === "zstd" ? ".zstd" : ""}`);
  }

  /** A plain log of these lines below the header. */
  async plainLog(lines: readonly string[], header = headerText("s")): Promise<string> {
    await mkdir(this.folder.at("logs", "--srv-x--", "s"), { recursive: true });
    const path = this.log("none");
    writeFileSync(path, [header, ...lines, ""].join("\n"));
    return path;
  }

  /** A log of frames, one for each Turn. */
  async framedLog(turns: number): Promise<string> {
    await withStore(`jsonl:${this.folder.at("logs")}`, async (store) => {
      const drafts = Array.from({ length: turns }, (_, k) => [
        turnStart(k + 1),
        userMessage(`${k}`),
        turnEnd(k + 1),
      ]);
      const records = recordsOfDrafts(drafts.flat());
      for (let k = 0; k < records.length; k += 3) await plant(store, "s", records.slice(k, k + 3));
    });
    return this.log("zstd");
  }

  /** The lines of verify but the last, which names the command to go on with. It ends with 5 and changes nothing. */
  async verify(next: "repair" | "salvage" = "repair"): Promise<string[]> {
    const name = existsSync(this.folder.at("a.db"))
      ? ["--session-db", this.folder.at("a.db")]
      : ["--session-dir", this.folder.at("logs")];
    const before = await folderState(this.folder.path);
    const { code, stdout, stderr } = await runHoldfast(["sessions", "verify", ...name]);
    expect({ code, stderr }).toEqual({ code: 5, stderr: "" });
    expect(await folderState(this.folder.path)).toEqual(before);
    const lines = stdout.replaceAll(this.folder.path, "").split("\n").slice(0, -1);
    const [flag, path] = [name[0], name[1]?.replace(this.folder.path, "")];
    const command =
      next === "repair" ? `repair --dry-run ${flag} ${path}` : `salvage --from jsonl:${path} --to STORE`;
    expect(lines.pop()).toBe(`next: holdfast sessions ${command}`);
    return lines;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.folder[Symbol.asyncDispose]();
  }
}

const texts = (from: number, to: number, tag = "t") =>
  Array.from(
    { length: to - from },
    (_, k) => `{"type":"session/title","seq":${from + k},"time":0,"data":"${tag}"}`,
  );

const TURN_END = '{"type":"turn/end","seq":6999,"time":0,"data":{"turn":1,"reason":{"kind":"completed"}}}';
const LOG = "/logs/--srv-x--/s/session.jsonl";

describe("verify finds in a log", () => {
  test("a bad line 500 of 7,000, and which event is not there", async () => {
    await using store = await Damaged.create();
    const lines = texts(0, 6_999);
    const offset = Buffer.byteLength([headerText("s"), ...lines.slice(0, 498), ""].join("\n"));
    await store.plainLog([...lines.with(498, '{"type":"session/title","se'), TURN_END]);
    const found = await store.verify();
    expect(found).toEqual([
      `error malformed in s: A record is not JSON: expected one JSON object, found "{\\"type\\":\\"session/title\\",\\"se"; 1 event is missing, seq 498 (file ${LOG}, byte ${offset}, row 500)`,
      expect.stringMatching(/^damaged s: 1 error, 0 notes; 498 events can be read, sha256 [0-9a-f]{12}…$/),
      "1 session, 1 damaged; 1 error, 0 notes",
    ]);
  });

  test("two branches of the same seqs, and how many records the second has", async () => {
    await using store = await Damaged.create();
    await store.plainLog([...texts(0, 100), ...texts(60, 130, "other")]);
    const [found, verdict, ...rest] = await store.verify();
    expect(found).toMatch(
      /^error events-repeated in s: The log goes back to where it was before: expected seq 100, found seq 60, and 70 events in 70 records from there on \(file \S+, byte \d+, row 102, seq 60\)$/,
    );
    expect(verdict).toStartWith("damaged s: 1 error, 0 notes; 100 events can be read, sha256 ");
    expect(rest).toEqual(["1 session, 1 damaged; 1 error, 0 notes"]);
  });

  test("that its end was never fully written", async () => {
    await using store = await Damaged.create();
    const path = await store.framedLog(5);
    const [last = 0] = unitOffsets(readFileSync(path), "zstd").slice(-2);
    truncateSync(path, last + 12);
    utimesSync(path, 0, 0);
    const [found, verdict, ...rest] = await store.verify();
    expect(found).toContain(
      "error torn-tail in s: The end of the log is damaged or was never fully written: expected ",
    );
    expect(found).toContain(`(file ${LOG}.zstd, byte ${last}, row 6)`);
    expect(verdict).toStartWith("torn s: 1 error, 0 notes; 12 events can be read, sha256 ");
    expect(rest).toEqual(["1 session, 1 torn; 1 error, 0 notes"]);
  });

  test("a byte that is another one, and goes on behind it", async () => {
    await using store = await Damaged.create();
    const path = await store.framedLog(6);
    const bytes = readFileSync(path);
    const offset = unitOffsets(bytes, "zstd")[3] ?? 0;
    bytes[offset + 40] = (bytes[offset + 40] ?? 0) ^ 0x10;
    writeFileSync(path, bytes);
    const [found, verdict, ...rest] = await store.verify();
    expect(found).toContain("error damaged in s: A frame of the log is damaged: expected ");
    expect(found).toEndWith(
      `; 3 events are missing, from seq 6 on (file ${LOG}.zstd, byte ${offset}, row 4)`,
    );
    expect(verdict).toStartWith("damaged s: 1 error, 0 notes; 6 events can be read, sha256 ");
    expect(rest).toEqual(["1 session, 1 damaged; 1 error, 0 notes"]);
  });

  test("the header of another session, and that a sound log lies in another folder", async () => {
    await using store = await Damaged.create();
    await store.plainLog(texts(0, 3), headerText("other"));
    await cp(store.folder.at("logs", "--srv-x--", "s"), store.folder.at("logs", "--srv-y--", "other"), {
      recursive: true,
    });
    const found = await store.verify("salvage");
    expect(found.filter((text) => !text.startsWith("note") && !text.startsWith("ok"))).toEqual([
      expect.stringMatching(/^error header-misplaced in s: .*expected the name other, found s /),
      expect.stringMatching(/^damaged s: 1 error, 0 notes; 3 events can be read, sha256 /),
      expect.stringMatching(/^2 sessions, 1 ok, 1 damaged; 1 error, 1 note$/),
    ]);
    expect(found.filter((text) => text.startsWith("note"))).toEqual([
      expect.stringContaining("note other-folder in other: The log lies in another project's folder"),
    ]);
  });
});

describe("verify finds in a database", () => {
  test("a row with another text than was written", async () => {
    await using store = await Damaged.create();
    await makeStore(store.folder.at("a.db"));
    damage(store.folder.at("a.db"), (database) =>
      rewriteBody(database, SEQ.message, "Remember", "Forget", { fixChecksum: false }),
    );
    const [first, ...rest] = await store.verify();
    expect(first).toMatch(/^error damaged in default: [^\n]*checksum[^\n]* \(file \/a\.db, [^\n]*seq 8\)$/);
    expect(rest.at(-2)).toMatch(/^damaged default: \d errors?, 0 notes; 8 events can be read, /);
  });

  test("rows of no session", async () => {
    await using store = await Damaged.create();
    await makeStore(store.folder.at("a.db"));
    damage(store.folder.at("a.db"), (database) =>
      database.run(
        "INSERT INTO records SELECT id + (7 << 32), count, type, time, body, sources, checksum FROM records",
      ),
    );
    const found = await store.verify();
    expect(found[0]).toMatch(
      /^error foreign: \d+ rows belong to no session: expected a session of the number 8, found none /,
    );
    expect(found.slice(1)).toEqual([
      "damaged sqlite:/a.db: 1 error, 0 notes",
      expect.stringMatching(/^ok default: 11 events, sha256 /),
      "1 session, 1 ok; 1 error, 0 notes",
    ]);
  });

  test("pages of garbage, and the sessions that can still be read", async () => {
    await using store = await Damaged.create();
    const path = store.folder.at("a.db");
    await withStore(path, async (target) => {
      for (const id of ["a", "b", "c"])
        await plant(target, id, recordsOfDrafts(Array.from({ length: 300 }, (_, k) => title(k))));
    });
    const bytes = readFileSync(path);
    const page = 4_096;
    const middle = Math.floor(statSync(path).size / page / 2) * page;
    bytes.fill(0xa5, middle, middle + page);
    writeFileSync(path, bytes);
    const found = await store.verify();
    expect(found[0]).toStartWith("error store-damaged: SQLite finds the database damaged: expected ");
    expect(found.at(-1)).toMatch(/^3 sessions, 2 unsure, 1 damaged; \d+ errors, 0 notes$/);
    expect(found.find((text) => text.startsWith("damaged b: "))).toMatch(
      /; [1-9]\d+ events can be read, sha256 /,
    );
  });

  test("that nothing of it can be read, where its file says that it is a store", async () => {
    await using store = await Damaged.create();
    const path = store.folder.at("a.db");
    await makeStore(path);
    writeFileSync(path, readFileSync(path).fill(0xa5, 100, 4_096));
    const { code, stdout, stderr } = await runHoldfast(["sessions", "verify", "--session-db", path]);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^error store-damaged: SQLite cannot check the database; .*--dry-run` tells: /);
    expect(stdout).toMatch(
      /\n0 sessions; \d errors, 0 notes\nnext: holdfast sessions repair --dry-run --session-db .*\n$/,
    );
    expect(stderr).toBe(`No session can be found in sqlite:${path} as it is; a repair may find some\n`);
  });
});
