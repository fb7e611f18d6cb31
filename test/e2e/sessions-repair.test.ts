import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  callBlock,
  stepEnd,
  stepStart,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { linesOf, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { BATCHES } from "../store/jsonl/damage-kinds.ts";
import { buildLog } from "../store/jsonl/log-bytes.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const AT = { turn: 1, step: 1 };

/** A store with the damaged session `default`, and what a repair of it is to say. */
interface Case {
  readonly args: readonly string[];
  readonly name: string;
  /** The session's file. */
  readonly file: string;
  readonly step: string;
  /** How the command that gets back what was set aside names the session. */
  readonly named: string;
  readonly kept: number;
  readonly after: number;
  make(folder: TempFolder): Promise<void>;
}

const LOG = "logs/--p--/default/session.jsonl.zstd";
const CASES: ReadonlyArray<readonly [string, Case]> = [
  [
    "a database",
    {
      args: ["--session-db", "a.db"],
      name: "sqlite:a.db",
      file: "a.db",
      step: "keep 3 events, set 4 rows aside, with 3 events in them, add 2 events to close the open Turn",
      named: "default ",
      kept: 3,
      after: 5,
      async make(folder) {
        await makeStore(folder.at("a.db"));
        damage(folder.at("a.db"), (database) =>
          rewriteBody(database, SEQ.run, "milk", "wine", { fixChecksum: false }),
        );
      },
    },
  ],
  [
    "session logs",
    {
      args: ["--session-dir", "logs"],
      name: "jsonl:logs",
      file: LOG,
      step: "keep 2 events, set … bytes aside, with 4 events in them, add 1 event to close the open Turn",
      named: "",
      kept: 2,
      after: 3,
      async make(folder) {
        const { bytes, offsets } = buildLog("default", "zstd", BATCHES);
        const rest = [bytes.subarray(0, offsets[1]), bytes.subarray(offsets[2])];
        await Bun.write(folder.at(LOG), Buffer.concat(rest));
      },
    },
  ],
];

describe.each(CASES)("sessions repair of %s", (_, { args, file, step, named, kept, after, make, name }) => {
  test("says what it would do and does nothing, then does just that, and then has nothing to do", async () => {
    await using folder = await TempFolder.create();
    await make(folder);
    const before = await folderState(folder.path);
    const original = readFileSync(folder.at(file));

    const dry = await sessions(folder, "repair", "--dry-run", ...args);
    expect(dry).toMatchObject({ code: 0, stderr: "" });
    const lines = dry.stdout.split("\n");
    expect(lines[0]?.replace(/\d+ bytes/, "… bytes")).toBe(`repair default: ${step}`);
    expect(lines[1]).toMatch(/^ {2}reason: [A-Z].* \([a-z-]+; file /);
    expect(lines[2]).toEndWith(`${file}.backup-1`);
    expect(lines[3]).toEndWith(`${file}.quarantine-1`);
    expect(lines[4]).toBe("1 step to do; nothing was changed");
    const back = `holdfast sessions salvage ${named}--from ${lines[2]?.replace("  backup ", "")} --to STORE`;
    expect(lines.slice(5)).toEqual([`to get events back that would be set aside: ${back}`, ""]);
    expect(await sessions(folder, "repair", name, "default", "--dry-run")).toEqual(dry);
    expect(await folderState(folder.path)).toEqual(before);

    const real = await sessions(folder, "repair", ...args);
    expect(real).toMatchObject({ code: 0, stderr: "" });
    expect(real.stdout.split("\n").slice(0, 5)).toEqual([...lines.slice(0, 4), "done: repair default"]);
    expect(real.stdout).toMatch(
      new RegExp(
        `\nok default: ${after} events, sha256 [0-9a-f]{12}…\n1 of 1 step done\nto get events back `,
      ),
    );
    expect(real.stdout).toEndWith(`\nto get events back that were set aside: ${back}\n`);
    if (file === LOG) expect(readFileSync(folder.at(`${file}.backup-1`)).equals(original)).toBe(true);
    const quarantine = readFileSync(folder.at(`${file}.quarantine-1`), "utf8");
    expect(JSON.parse(quarantine.split("\n")[0] ?? "")).toMatchObject({ type: "holdfast-quarantine" });

    const verified = await sessions(folder, "verify", ...args);
    expect(verified).toMatchObject({ code: 0 });
    const shown = await sessions(folder, "show", "default", name, "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ events: after, closers: [] });
    expect(await sessions(folder, "repair", ...args)).toMatchObject({
      code: 0,
      stdout: "nothing to repair\n",
    });

    // What was cut can be taken over, and what was there before is whole in the backup.
    const from = [`${file}.quarantine-1`, `${file}.backup-1`];
    for (const path of from) {
      expect(await sessions(folder, "salvage", "--from", path, "--to", "new.db")).toMatchObject({ code: 0 });
    }
  });

  test("prints JSON, line by line, and knows which sessions are not there", async () => {
    await using folder = await TempFolder.create();
    await make(folder);
    const finished = await sessions(folder, "repair", "default", "gone", ...args, "--json");
    expect(finished).toMatchObject({ code: 3, stderr: "" });
    expect(linesOf(finished)).toMatchObject([
      { kind: "missing", id: "gone" },
      {
        kind: "step",
        what: "session",
        id: "default",
        reason: { severity: "error", place: expect.anything() },
        keptEvents: kept,
        cut: { bytes: expect.any(Number), rows: expect.any(Number), events: expect.any(Number) },
        closers: after - kept,
        header: "kept",
        backup: expect.stringMatching(/\.backup-1$/),
        quarantine: expect.stringMatching(/\.quarantine-1$/),
      },
      { kind: "done", what: "session", id: "default" },
      { kind: "session", id: "default", state: "ok", events: after },
      { kind: "summary", steps: 1, done: 1, helpless: 0 },
    ]);
  });

  test("leaves the sessions alone that are not named", async () => {
    await using folder = await TempFolder.create();
    await make(folder);
    const before = await folderState(folder.path);
    await withStore(name.replace(":", `:${folder.path}/`), (store) =>
      plant(store, "other", recordsOfDrafts([turnStart(1), turnEnd(1)])),
    );
    const finished = await sessions(folder, "repair", "other", ...args);
    expect(finished).toMatchObject({ code: 0, stdout: "nothing to repair\n" });
    if (file === LOG)
      expect(await folderState(folder.path)).toContain(before.find((line) => line.startsWith(LOG)) ?? "");
    expect(await sessions(folder, "verify", "default", ...args)).toMatchObject({ code: 5 });
  });
});

describe("what no repair can help", () => {
  test("is told, with what can be done instead, and the exit code says so", async () => {
    await using folder = await TempFolder.create();
    await withStore(`jsonl:${folder.at("logs")}`, async (store) => {
      const call = assistantMessage(AT, [callBlock("a")]);
      const drafts = [turnStart(1), userMessage("Go"), stepStart(AT), call, stepEnd(AT), turnEnd(1)];
      await plant(store, "unpaired", recordsOfDrafts(drafts));
      await plant(store, "future", recordsOfTexts(['{"type":"future/event","seq":0,"time":1,"data":{}}']));
    });
    const before = await folderState(folder.path);
    for (const dry of [["--dry-run"], []]) {
      const finished = await sessions(folder, "repair", "--session-dir", "logs", ...dry);
      expect(finished).toMatchObject({ code: 5, stderr: "" });
      const lines = finished.stdout.split("\n");
      expect(lines[0]).toStartWith("cannot repair future: ");
      expect(lines[1]).toBe("  instead: use the program, or the version of Holdfast, that wrote it");
      expect(lines[2]).toStartWith("cannot repair unpaired: ");
      expect(lines[3]).toBe("  instead: holdfast sessions salvage unpaired --from jsonl:logs --to STORE");
      expect(lines[4]).toBe("nothing to repair, 2 findings that no repair can help");
    }
    expect((await folderState(folder.path)).filter((line) => !line.includes(".holdfast"))).toEqual(
      before.filter((line) => !line.includes(".holdfast")),
    );
    const salvaged = await sessions(
      folder,
      "salvage",
      "unpaired",
      "--from",
      "jsonl:logs",
      "--to",
      "jsonl:logs",
    );
    expect(salvaged).toMatchObject({ code: 0 });
    expect(await sessions(folder, "verify", "unpaired-salvaged", "--session-dir", "logs")).toMatchObject({
      code: 0,
    });
  });

  test("is a missing store, or one of something else", async () => {
    await using folder = await TempFolder.create();
    writeFileSync(folder.at("notes.txt"), "These are notes, and no database at all.\n".repeat(200));
    const before = await folderState(folder.path);
    for (const dry of [["--dry-run"], []]) {
      expect(await sessions(folder, "repair", "--session-db", "gone.db", ...dry)).toMatchObject({ code: 3 });
      expect(await sessions(folder, "repair", "--session-dir", "gone", ...dry)).toMatchObject({ code: 3 });
      expect(await sessions(folder, "repair", "--session-db", "notes.txt", ...dry)).toMatchObject({
        code: 7,
      });
    }
    expect(await sessions(folder, "repair", "x")).toMatchObject({ code: 2 });
    expect(await folderState(folder.path)).toEqual(before);
  });
});

test.each(["sqlite", "zstd"] as const)(
  "the store of a running Host (%s) is planned for, and not repaired",
  async (kind) => {
    await using lab = await HostLab.on(kind, textReply("one"));
    const host = await lab.start();
    const args = [kind === "sqlite" ? "--session-db" : "--session-dir", lab.store];
    expect(await sessions(lab.folder, "repair", ...args)).toMatchObject({
      code: 6,
      stdout: "",
      stderr: expect.stringContaining(`in use by process ${host.pid}`),
    });
    expect(await sessions(lab.folder, "repair", "--dry-run", ...args)).toMatchObject({
      code: 0,
      stdout: "nothing to repair\n",
    });
  },
);

test("a database whose pages are damaged is written anew, with all that can be read of it", async () => {
  await using folder = await TempFolder.create();
  const path = folder.at("a.db");
  await withStore(`sqlite:${path}`, async (store) => {
    const text = "x".repeat(500);
    const drafts = Array.from(
      { length: 200 },
      (_, n) => ({ type: "session/title", data: { n, text } }) as const,
    );
    await plant(store, "s", recordsOfDrafts(drafts));
    await plant(store, "t", recordsOfDrafts(drafts));
  });
  const pages = readFileSync(path);
  pages.fill(0xa5, 12 * 4096, 13 * 4096);
  writeFileSync(path, pages);
  const finished = await sessions(folder, "repair", "--session-db", "a.db");
  expect(finished).toMatchObject({ code: 0, stderr: "" });
  expect(finished.stdout).toMatch(/^write a\.db anew: carry 2 sessions with \d+ events over\n/);
  expect(readFileSync(folder.at("a.db.backup-1")).equals(pages)).toBe(true);
  expect(await sessions(folder, "verify", "--session-db", "a.db")).toMatchObject({ code: 0 });
});

test("a database that is cut off is repaired with code 5, and all that is lost is named; where nothing is left it stays", async () => {
  await using folder = await TempFolder.create();
  await makeStore(folder.at("whole.db"));
  const whole = readFileSync(folder.at("whole.db"));
  const args = ["repair", "--session-db", "a.db"];
  writeFileSync(folder.at("a.db"), whole.subarray(0, 4 * 4096));
  const dry = await sessions(folder, ...args, "--dry-run");
  expect(dry).toMatchObject({ code: 5, stderr: "" });
  expect(dry.stdout).toContain("\n  lost default: 0 events: none of its rows could be read\n");
  expect(dry.stdout).toMatch(
    /\nlost: all events of 1 session; the file lacks \d+ pages?; the damaged file would be kept as \S+a\.db\.backup-1\n$/,
  );
  const json = await sessions(folder, ...args, "--dry-run", "--json");
  expect(linesOf(json)).toMatchObject([
    { what: "store", lost: { pages: { found: 4 }, sessions: [{ id: "default", left: 0, isCertain: true }] } },
    { kind: "summary", lost: { whole: 1, part: 0, perhaps: 0, backup: expect.stringContaining("backup-1") } },
  ]);
  const done = await sessions(folder, ...args, "--json");
  expect(done.code).toBe(5);
  expect(linesOf(done).find(({ kind }) => kind === "session")).toMatchObject({
    id: "default",
    state: "lost",
  });
  expect(readFileSync(folder.at("a.db.backup-1")).length).toBe(4 * 4096);

  writeFileSync(folder.at("b.db"), whole.subarray(0, 4096));
  const refused = await sessions(folder, "repair", "b.db");
  expect(refused).toMatchObject({ code: 5, stdout: "" });
  expect(refused.stderr).toContain("No session is left in the database that a repair could keep");
  expect(readFileSync(folder.at("b.db")).equals(whole.subarray(0, 4096))).toBe(true);
});
