import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { FEW_STORES, fewSessions, linesOf, listed, plantTurns, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { LongReader } from "../fixtures/long-reader.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const SECRET = "between you and me ";

/** Runs what the output says brings everything back, as it stands there, in a shell in another folder. */
function runPrinted({ stdout }: { readonly stdout: string }) {
  const printed = [...stdout.matchAll(/^to bring back what was deleted: (.*)$/gm)].map(
    ([, command]) => command,
  );
  expect(printed).not.toEqual([]);
  const script = [`holdfast() { '${executablePath()}' "$@"; }`, "set -e", ...printed].join("\n");
  return runCommand(["sh", "-c", script], { cwd: "/" });
}

/** All files of a root but those of its lock. */
async function rootState(root: string): Promise<string[]> {
  return (await folderState(root)).filter((line) => !line.startsWith(".holdfast"));
}

describe.each(FEW_STORES)("sessions delete from %s", (...kind) => {
  const [, store] = kind;

  test("moves sessions to the trash, and the command that it prints brings them back as they were", async () => {
    await using folder = await fewSessions(kind, async (open) => {
      for (const id of ["a", "it's ~/é", "c"]) await plantTurns(open, id);
    });
    const before = await sessions(folder, "show", "it's ~/é", store, "--events");
    const gone = await sessions(folder, "delete", store, "a", "it's ~/é", "a", "--yes");
    expect(gone).toMatchObject({ code: 0, stderr: "" });
    expect(gone.stdout).toMatch(
      /^to delete:\nID {8}TITLE {3}STARTED .*FOLDER\na {9}Say 0\. {2}2023-11-1\d \d\d:\d\d .* 1 {2}\/srv\/x\nit's ~\/é {2}Say /,
    );
    expect(gone.stdout).toContain(`\n2 deleted from ${store === "a.db" ? "sqlite" : "jsonl"}:${store}\n`);
    expect(await listed(folder, store)).toEqual(["c ok 3"]);
    expect(await runPrinted(gone)).toMatchObject({ code: 0 });
    expect(await listed(folder, store)).toEqual(["a ok 3", "c ok 3", "it's ~/é ok 3"]);
    expect(await sessions(folder, "show", "it's ~/é", store, "--events")).toEqual(before);
  });
});

test("sessions delete names all of the trash where an id cannot be typed as it is printed", async () => {
  await using folder = await fewSessions(FEW_STORES[0], async (open) => {
    for (const id of ["-rf", "a\nb\u001b[2J"]) await plantTurns(open, id);
  });
  const gone = await sessions(
    folder,
    "delete",
    "--session-db",
    "a.db",
    "--yes",
    "--",
    "-rf",
    "a\nb\u001b[2J",
  );
  expect(gone.stdout).toContain("\ndeleted a\\u000ab\\u001b[2J: moved to ");
  expect(await runPrinted(gone)).toMatchObject({ code: 0 });
  expect(await listed(folder, "a.db")).toEqual(["-rf ok 3", "a\nb\u001b[2J ok 3"]);
});

// What is written in frames and what is not is moved in the same way.
describe.each(FEW_STORES.slice(0, 2))("sessions delete from %s", (...kind) => {
  const [, store, encoding] = kind;

  test("with --purge leaves nothing of them anywhere", async () => {
    await using folder = await fewSessions(kind, async (open) => {
      await plant(open, "a", recordsOfDrafts([turnStart(1), userMessage(SECRET.repeat(500)), turnEnd(1)]));
      await plantTurns(open, "b");
    });
    const gone = await sessions(folder, "delete", store, "a", "--yes", "--purge", "--json");
    expect(gone).toMatchObject({ code: 0, stderr: "" });
    expect(linesOf(gone)).toEqual([
      {
        kind: "session",
        id: "a",
        title: expect.stringContaining(SECRET),
        turns: 1,
        createdAt: 1_700_000_000_000,
        lastActive: 1_700_000_000_002,
        cwd: "/srv/x",
      },
      { kind: "deleted", id: "a" },
      {
        kind: "summary",
        store: expect.any(String),
        sessions: 1,
        deleted: 1,
        failed: 0,
        gone: 0,
        ...(store === "a.db" ? { overwritten: true } : {}),
      },
    ]);
    expect(await listed(folder, store)).toEqual(["b ok 3"]);
    const left = await folderState(folder.path);
    expect(left.join("\n")).not.toContain("trash");
    // Not a word of it is left in any file.
    if (store === "a.db") expect(await Bun.file(folder.at(store)).text()).not.toContain(SECRET);
  });

  test("changes nothing where nobody can be asked, in a held store, and in one that is not there", async () => {
    await using folder = await fewSessions(kind, (open) => plantTurns(open, "a"));
    const before = await folderState(folder.path);
    const asking = await sessions(folder, "delete", store, "a");
    expect(asking).toMatchObject({ code: 2, stdout: expect.stringContaining("1 session to delete from ") });
    expect(asking.stderr).toContain("--yes");
    expect(await folderState(folder.path)).toEqual(before);
    await withStore(
      folder.at(store),
      async () => {
        expect(await sessions(folder, "delete", store, "a", "--yes")).toMatchObject({ code: 6, stdout: "" });
      },
      encoding,
    );
    expect(await listed(folder, store)).toEqual(["a ok 3"]);
    const other = store === "logs" ? "jsonl:none" : "sqlite:none";
    expect(await sessions(folder, "delete", other, "a", "--yes")).toMatchObject({ code: 3, stdout: "" });
    expect(existsSync(folder.at("none"))).toBe(false);
  });
});

test("sessions delete --purge says that text is left where another program reads it, and what removes it then does", async () => {
  await using folder = await fewSessions(FEW_STORES[0], async (open) => {
    await plant(open, "a", recordsOfDrafts([turnStart(1), userMessage(SECRET.repeat(500)), turnEnd(1)]));
    await plantTurns(open, "b");
  });
  const files = async () => {
    const names = ["a.db", "a.db-wal"].filter((name) => existsSync(folder.at(name)));
    return (await Promise.all(names.map((name) => Bun.file(folder.at(name)).text()))).join("");
  };
  await using reader = await LongReader.on(folder.at("a.db"));
  const gone = await sessions(folder, "delete", "a.db", "a", "--yes", "--purge", "--json");
  expect(gone).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^holdfast: text of it may still be /),
  });
  expect(linesOf(gone).at(-1)).toMatchObject({ deleted: 1, overwritten: false });
  expect(await files()).toContain(SECRET);
  await reader.leave();
  expect(await files()).toContain(SECRET);
  await sessions(folder, "rename", "b", "Another", "a.db");
  expect(await files()).not.toContain(SECRET);
  expect(await listed(folder, "a.db")).toEqual(["b ok 4"]);
});

test("sessions delete deletes nothing where a named session is missing, and an argument goes before a variable", async () => {
  await using folder = await fewSessions(FEW_STORES[0], async (open) => {
    for (const id of ["garden-1", "garden-2", "bath"]) await plantTurns(open, id);
  });
  const before = await folderState(folder.path);
  const refused = await sessions(folder, "delete", "a.db", "bath", "g", "x", "--yes");
  expect(refused).toMatchObject({ code: 3, stdout: "missing g\nmissing x\n" });
  expect(refused.stderr).toBe(
    "holdfast: nothing was deleted: 2 sessions that were named are not in sqlite:a.db\n" +
      '  hint: Give whole ids: with "g" begin garden-1, garden-2\n',
  );
  expect(await folderState(folder.path)).toEqual(before);
  await withStore(folder.at("logs"), (open) => plantTurns(open, "bath"), "none");
  const env = { HOLDFAST_SESSION_DB: "a.db" };
  const args = ["sessions", "delete", "logs", "bath", "--yes", "--json"];
  expect(linesOf(await runHoldfast(args, { cwd: folder.path, env })).at(-1)).toMatchObject({
    store: "jsonl:logs",
    deleted: 1,
  });
  expect(await listed(folder, "a.db")).toContain("bath ok 3");
});

test("sessions delete keeps the rows of a session that cannot be read, for a salvage", async () => {
  await using folder = await TempFolder.create();
  await makeStore(folder.at("a.db"));
  damage(folder.at("a.db"), (database) =>
    rewriteBody(database, SEQ.run, "milk", "wine", { fixChecksum: false }),
  );
  const gone = await sessions(folder, "delete", "a.db", "default", "--yes");
  expect(gone.code).toBe(0);
  expect(gone.stdout).toMatch(/moved to .*\.quarantine-1\n/);
  expect(await listed(folder, "a.db")).toEqual([]);
  const { code, stdout } = await runPrinted(gone);
  expect(code).toBe(0);
  expect(stdout).toStartWith("salvaged default as default-salvaged: ");
});

// The second time there are too many to be named one by one.
test.each([2, 9])(
  "what sessions delete prints brings back logs as they were, damaged or not (%d)",
  async (count) => {
    await using folder = await fewSessions(FEW_STORES[2], async (open) => {
      for (let k = 0; k < count - 1; k += 1) await plantTurns(open, k === 0 ? ".it's" : `s${k}`);
    });
    const root = folder.at("logs");
    const [first] = readdirSync(`${root}/--srv-x--`).sort();
    const log = `${root}/--srv-x--/${first}/session.jsonl`;
    appendFileSync(log, 'no event\n{"type":"turn/end","seq":3,"time":1,"data":{}}\n');
    writeFileSync(`${log}.backup-1`, "kept");
    mkdirSync(`${root}/--srv-y--`);
    cpSync(log, `${root}/--srv-y--/flat.jsonl`);
    const ids = [".it's", "flat", ...Array.from({ length: count - 2 }, (_, k) => `s${k + 1}`)];
    const before = await rootState(root);
    const gone = await sessions(folder, "delete", "logs", ...ids, "--yes");
    expect(gone.stdout).toContain(`\n${count} deleted from jsonl:logs\n`);
    expect(await rootState(root)).toEqual([]);
    expect(await runPrinted(gone)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await rootState(root)).toEqual(before);
    // What has come into the place meanwhile stays there.
    const again = await sessions(folder, "delete", "logs", ...ids, "--yes");
    await withStore(root, (open) => plantTurns(open, ".it's", { turns: 2 }), "none");
    await runPrinted(again);
    expect(await listed(folder, "logs")).toContain(".it's ok 6");
  },
);

// A terminal is never sent such a name, and a shell takes what stands there instead for it.
test.skipIf(process.platform === "win32").each([
  ["a.db", 2],
  ["logs\n", 2],
  ["logs\n", 5],
] as const)(
  "what sessions delete prints brings back what lies below names with control characters (%j, %d)",
  async (store, count) => {
    const name = `it's\n\u001b[2J\t\\0%s\u202e/${store}`;
    const ids = Array.from({ length: count }, (_, k) => `s${k}`);
    await using folder = await TempFolder.create();
    await withStore(folder.at(name), async (open) => {
      for (const id of ids) await plantTurns(open, id);
    });
    const gone = await sessions(folder, "delete", name, ...ids, "--yes");
    expect(gone.stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(await listed(folder, name)).toEqual([]);
    expect(await runPrinted(gone)).toMatchObject({ code: 0, stderr: "" });
    expect(await listed(folder, name)).toEqual(ids.map((id) => `${id} ok 3`));
  },
);

test("sessions delete tells why a session cannot be read, whole and below it", async () => {
  await using folder = await fewSessions(FEW_STORES[2], (open) => plantTurns(open, "a"));
  writeFileSync(folder.at("logs/--srv-x--/a/session.jsonl"), "no header\n");
  const { stdout } = await sessions(folder, "delete", "logs", "a", "--yes");
  expect(stdout).toMatch(/^to delete:\nID .*\na {3}- .*\n {2}reason: .*header.*\ndeleted a: /);
});

test("sessions delete has nothing to bring back of a session without an event", async () => {
  await using folder = await TempFolder.create();
  await makeStore(folder.at("a.db"));
  damage(folder.at("a.db"), (database) => database.run("DELETE FROM records"));
  const gone = await sessions(folder, "delete", "a.db", "default", "--yes", "--json");
  expect(linesOf(gone).at(-1)).toMatchObject({ deleted: 1, trash: expect.any(String), restore: [] });
});

test.skipIf(process.platform === "win32")(
  "sessions delete asks on a terminal, and takes no for an answer",
  async () => {
    const title = userMessage("שלום\u202e");
    await using folder = await fewSessions(FEW_STORES[0], (open) =>
      plant(open, "a", recordsOfDrafts([turnStart(1), title, turnEnd(1)])),
    );
    const answers = [
      ["n\r", 1, 1],
      ["\u0003", 130, 1],
      ["y\r", 0, 0],
    ] as const;
    for (const [keys, code, left] of answers) {
      await using terminal = new TerminalProcess(["sessions", "delete", "a.db", "a"], { cwd: folder.path });
      // Text that runs from right to left turns nothing around, and turns of its own are shown.
      await terminal.sees(/\na {3}\u2068שלום\\u202e\u2069 {2}20/);
      await terminal.sees(/Delete 1 session from sqlite:a\.db\? \[y\/N\] /);
      terminal.type(keys);
      expect(await terminal.exited).toEqual({ code });
      expect(await listed(folder, "a.db")).toHaveLength(left);
    }
  },
);

test.skipIf(process.platform === "win32")(
  "sessions delete asks with the whole id and the folder before it, however narrow the terminal is",
  async () => {
    const id = "examples-acp-agent-subagent-continuable-inheritance-session-1";
    await using folder = await fewSessions(FEW_STORES[2], (open) => plantTurns(open, id));
    const args = ["sessions", "delete", "--session-dir", "logs", id];
    await using terminal = new TerminalProcess(args, { cwd: folder.path, columns: 60 });
    await terminal.sees(
      new RegExp(
        `to delete:\\r\\n${id}\\r\\n {2}Say 0\\.\\r\\n {2}1 Turn, last active .*\\r\\n {2}folder: /srv/x\\r\\n`,
      ),
    );
    await terminal.sees(/Delete 1 session from jsonl:logs\? \[y\/N\] /);
    terminal.type("n\r");
    expect(await terminal.exited).toEqual({ code: 1 });
  },
);
