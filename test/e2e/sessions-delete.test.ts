import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync } from "node:fs";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { cleanEnvironment, executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { FEW_STORES, fewSessions, linesOf, listed, plantTurns, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const SECRET = "between you and me ";

/** Runs the command that a line of output ends with. */
function runPrinted(folder: TempFolder, { stdout }: { readonly stdout: string }) {
  const [, command = ""] = /^to bring back what was deleted: holdfast (.*)$/m.exec(stdout) ?? [];
  return runCommand(["sh", "-c", `'${executablePath()}' ${command}`], { cwd: folder.path });
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
      /^to delete a: “Say 0\.”, 1 Turn, created 2023-11-1\d \d\d:\d\d, last active .*, folder \/srv\/x\nto delete it's /,
    );
    expect(gone.stdout).toContain(`\n2 deleted from ${store === "a.db" ? "sqlite" : "jsonl"}:${store}\n`);
    expect(await listed(folder, store)).toEqual(["c ok 3"]);
    expect(await runPrinted(folder, gone)).toMatchObject({ code: 0 });
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
  expect(await runPrinted(folder, gone)).toMatchObject({ code: 0 });
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
      expect.objectContaining({ kind: "summary", sessions: 1, deleted: 1, failed: 0 }),
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

  test("killed at any moment loses no session, and leaves none half", async () => {
    const ids = Array.from({ length: 12 }, (_, k) => `s${k}`);
    await using folder = await fewSessions(kind, async (open) => {
      for (const id of ids) await plantTurns(open, id, { turns: 50 });
    });
    const args = ["sessions", "delete", store, ...ids, "--yes", "--json"];
    await using child = Bun.spawn([executablePath(), ...args], {
      cwd: folder.path,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    let output = "";
    for await (const piece of child.stdout) {
      output += new TextDecoder().decode(piece);
      if (output.includes('"deleted"')) child.kill("SIGKILL");
    }
    await child.exited;
    const trashes = [...new Bun.Glob(`${store}.trash/*`).scanSync({ cwd: folder.path, onlyFiles: false })];
    expect(trashes).toHaveLength(1);
    const all = await Promise.all([store, ...trashes].map((name) => listed(folder, name)));
    expect([...new Set(all.flat())].sort()).toEqual(ids.map((id) => `${id} ok 150`).sort());
    // What was told is gone from the store; the same command names what is gone, and does the rest without that.
    const told = [...output.matchAll(/"kind":"deleted","id":"(\w+)"/g)].map(([, id]) => `${id} ok 150`);
    expect(all[0]?.filter((line) => told.includes(line))).toEqual([]);
    const again = await sessions(folder, ...args.slice(1));
    const missing = linesOf(again).flatMap(({ kind: what, id }) => (what === "missing" ? [id] : []));
    const left = ids.filter((id) => !missing.includes(id));
    expect(all[0]?.length).toBe(left.length);
    if (left.length > 0) expect((await sessions(folder, "delete", store, ...left, "--yes")).code).toBe(0);
    expect(await listed(folder, store)).toEqual([]);
  });
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
  const { code, stdout } = await runPrinted(folder, gone);
  expect(code).toBe(0);
  expect(stdout).toStartWith("salvaged default as default-salvaged: ");
});

test("sessions delete moves a log as it is, whatever is in it, and with all that lies beside it", async () => {
  await using folder = await fewSessions(FEW_STORES[2], (open) => plantTurns(open, "a"));
  const log = folder.at("logs/--srv-x--/a/session.jsonl");
  appendFileSync(log, "no event\n");
  appendFileSync(`${log}.backup-1`, "kept");
  const before = await folderState(folder.at("logs/--srv-x--"));
  const gone = linesOf(await sessions(folder, "delete", "logs", "a", "--yes", "--json"));
  const { path } = gone.find(({ kind }) => kind === "deleted") ?? {};
  expect(existsSync(folder.at("logs/--srv-x--"))).toBe(false);
  expect(await folderState(`${path}/..`)).toEqual(before);
});

test.skipIf(process.platform === "win32")(
  "sessions delete asks on a terminal, and takes no for an answer",
  async () => {
    await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "a"));
    const answers = [
      ["n\r", 1, 1],
      ["\u0003", 130, 1],
      ["y\r", 0, 0],
    ] as const;
    for (const [keys, code, left] of answers) {
      await using terminal = new TerminalProcess(["sessions", "delete", "a.db", "a"], { cwd: folder.path });
      await terminal.sees(/Delete 1 session from sqlite:a\.db\? \[y\/N\] /);
      terminal.type(keys);
      expect(await terminal.exited).toEqual({ code });
      expect(await listed(folder, "a.db")).toHaveLength(left);
    }
  },
);
