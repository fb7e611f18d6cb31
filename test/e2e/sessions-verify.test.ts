import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody } from "../fixtures/damaged-store.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import {
  type CommandOptions,
  cleanEnvironment,
  executablePath,
  type Finished,
  runCommand,
  runHoldfast,
} from "../fixtures/executable.ts";
import { linesOf } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { sha256 } from "../fixtures/sha256.ts";
import {
  headerText,
  plant,
  plantSmall,
  recordsOfDrafts,
  recordsOfTexts,
  withStore,
} from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const ONE_MESSAGE = /^holdfast: [^\n]+\n( {2}where: [^\n]+\n)? {2}hint: [^\n]+\n$/;

function verify(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["sessions", "verify", ...args], options);
}

const [TITLE] = recordsOfDrafts([title(0)]);
const DIGEST = sha256(TITLE?.text ?? "");

describe.each(["--session-db", "--session-dir"] as const)("verify %s", (flag) => {
  const path = flag === "--session-db" ? "a.db" : "logs";
  const name = `${flag === "--session-db" ? "sqlite" : "jsonl"}:${path}`;

  test("of a sound store says so of each session, with its digest", async () => {
    await using folder = await TempFolder.create();
    await plantSmall(name.replace(":", `:${folder.path}/`), ["one", "two"]);
    const ok = (id: string) => `ok ${id}: 1 event, sha256 ${DIGEST.slice(0, 12)}…\n`;
    const finished = await verify([flag, path], { cwd: folder.path });
    expect(finished).toEqual({
      code: 0,
      stdout: `${ok("one")}${ok("two")}2 sessions, 2 ok; 0 errors, 0 notes\n`,
      stderr: "",
    });
    const variable = { env: { [`HOLDFAST_${flag.slice(2).toUpperCase().replace("-", "_")}`]: path } };
    expect(await verify(["--all"], { cwd: folder.path, ...variable })).toEqual(finished);
    const two = await verify(["two", flag, path], { cwd: folder.path });
    expect(two).toEqual({
      code: 0,
      stdout: `${ok("two")}1 session, 1 ok; 0 errors, 0 notes\n`,
      stderr: "",
    });
    // Where nothing else names the store, the first argument does; else it is an id.
    expect(await verify([path, "--all"], { cwd: folder.path })).toEqual(finished);
    expect(await verify([name, "two"], { cwd: folder.path })).toEqual(two);
    expect(await verify(["two"], { cwd: folder.path, ...variable })).toEqual(two);
    expect(await verify([path, flag, path], { cwd: folder.path })).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(`missing ${path}: there is no such session\n`),
    });
  });

  test("prints one JSON object a line with --json", async () => {
    await using folder = await TempFolder.create();
    await withStore(name.replace(":", `:${folder.path}/`), (store) =>
      plant(store, "s", recordsOfDrafts([turnStart(1), userMessage("hi")])),
    );
    const finished = await verify(["s", "gone", flag, path, "--json"], { cwd: folder.path });
    expect(finished).toMatchObject({
      code: 3,
      stderr: `holdfast: 1 session that was named is not there\n  hint: \`holdfast sessions list ${name}\` lists those that are there.\n`,
    });
    const found = "Turn 1";
    expect(linesOf(finished)).toMatchObject([
      { kind: "store", store: name, state: "ok", errors: 0, notes: 0 },
      { kind: "finding", session: "s", severity: "note", code: "open-turn", place: { seq: 1 }, found },
      { kind: "session", id: "s", state: "ok", events: 2, errors: 0, notes: 1 },
      { kind: "missing", id: "gone" },
      { kind: "summary", sessions: 1, ok: 1, missing: 1, events: 2, errors: 0, notes: 1 },
    ]);
    const [, , session] = linesOf(finished);
    const shown = await runHoldfast(["sessions", "show", "s", path, "--json"], { cwd: folder.path });
    expect(session?.["digest"]).toBe(JSON.parse(shown.stdout).digest);
  });

  test("of a store without sessions says so, and is no failure", async () => {
    await using folder = await TempFolder.create();
    await plantSmall(name.replace(":", `:${folder.path}/`), []);
    expect(await verify([flag, path], { cwd: folder.path })).toEqual({
      code: 0,
      stdout: "0 sessions; 0 errors, 0 notes\n",
      stderr: `There is no session in ${name}\n`,
    });
  });
});

describe("verify ends with", () => {
  test("5 where something is wrong, also when a session is missing", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    damage(folder.at("a.db"), (database) =>
      rewriteBody(database, 8, "Remember", "Forget", { fixChecksum: false }),
    );
    const { code, stdout, stderr } = await verify(["default", "gone", "--session-db", folder.at("a.db")]);
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: expect.stringContaining("1 session that was named"),
    });
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^error damaged in default: .*expected .*, found .* \(file .*, .*seq 8.*\)$/);
    expect(lines.slice(-5)).toEqual([
      expect.stringMatching(
        /^damaged default: \d errors?, 0 notes; 8 events can be read, sha256 [0-9a-f]{12}…$/,
      ),
      "missing gone: there is no such session",
      expect.stringMatching(/^1 session, 1 damaged, 1 missing; \d errors?, 0 notes$/),
      `next: holdfast sessions repair --dry-run default gone --session-db ${folder.at("a.db")}`,
      "",
    ]);
  });

  test("3, 7 or 2 and one message where there is nothing to check", async () => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("notes.txt"), "These are notes, and no database at all.\n".repeat(200));
    await mkdir(folder.at("logs"));
    const cases: ReadonlyArray<readonly [readonly string[], number, string]> = [
      [["--session-db", "gone.db"], 3, "There is no store"],
      [["--session-dir", "gone"], 3, "There is no store"],
      [["--session-db", "notes.txt"], 7, "not a SQLite database"],
      [["--session-db", "gone.db", "--session-dir", "logs"], 2, "each name a store"],
      [["--session-db", ""], 2, "it must be a path"],
      [[], 2, "No store is named"],
      [["default"], 2, 'No store is named, and there is none at "default"'],
      [["gone.db", "default"], 3, "There is no store"],
      [["--session-dir", "logs"], 3, "no session log in the folder"],
      [["logs"], 3, "no session log in the folder"],
      [["s", "--all", "--session-dir", "logs"], 2, "exclude each other"],
    ];
    const before = await folderState(folder.path);
    for (const [args, code, message] of cases) {
      const finished = await verify(args, { cwd: folder.path });
      expect({ args, ...finished }).toMatchObject({ args, code, stdout: "" });
      expect(finished.stderr).toMatch(ONE_MESSAGE);
      expect(finished.stderr).toContain(message);
    }
    expect(await folderState(folder.path)).toEqual(before);
  });
});

describe("the lines of verify", () => {
  test("show no control character of a session as it is", async () => {
    await using folder = await TempFolder.create();
    const id = "a\u001b[31m\nb\u202e";
    const texts = ['{"type":"x/\\u001b[2J\u2028","seq":0,"time":0,"data":{}}'];
    await withStore(folder.at("a.db"), (store) => plant(store, id, recordsOfTexts(texts)));
    const { code, stdout } = await verify(["--session-db", folder.at("a.db")]);
    expect(code).toBe(5);
    expect(stdout).not.toMatch(/[^\n -~…]/);
    expect(stdout).toContain("error unknown-type in a\\u001b[31m\\u000ab\\u202e: ");
    expect(stdout).toContain(
      "unsupported a\\u001b[31m\\u000ab\\u202e: 1 error, 0 notes; 1 event can be read",
    );
  });

  test("go to a reader that has seen enough, without a word", async () => {
    await using folder = await TempFolder.create();
    const records = recordsOfDrafts(Array.from({ length: 20_000 }, (_, k) => title(k)));
    const lines = [headerText("s"), ...records.filter(({ seq }) => seq % 2 === 0).map(({ text }) => text)];
    await mkdir(folder.at("logs", "--srv-x--", "s"), { recursive: true });
    await writeFile(folder.at("logs", "--srv-x--", "s", "session.jsonl"), `${lines.join("\n")}\n`);
    const command = `"${executablePath()}" sessions verify --session-dir logs`;
    const { code, stdout, stderr } = await runCommand(
      ["bash", "-c", `${command} | head -n 1; echo "\${PIPESTATUS[0]}"`],
      { cwd: folder.path },
    );
    expect(stdout).toMatch(/^error events-missing in s: 1 event is missing: [^\n]+\n0\n$/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("verify that is stopped in the middle of a long log", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("by %s says so, after what it found until then", async (signal, code) => {
    await using folder = await TempFolder.create();
    await plantSmall(`jsonl:${folder.at("logs")}`, ["a"]);
    const filler = "0123456789".repeat(1_000);
    const lines = Array.from(
      { length: 8_000 },
      (_, seq) => `{"type":"todo/write","seq":${seq},"time":0,"data":"${filler}"}\n`,
    );
    await mkdir(folder.at("logs", "--srv-x--", "b"));
    await writeFile(
      folder.at("logs", "--srv-x--", "b", "session.jsonl"),
      `${headerText("b")}\n${lines.join("")}`,
    );
    const child = Bun.spawn([executablePath(), "sessions", "verify", "--session-dir", folder.at("logs")], {
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    for await (const chunk of child.stdout) {
      stdout += Buffer.from(chunk).toString();
      child.kill(signal);
    }
    expect(stdout).toBe(`ok a: 1 event, sha256 ${DIGEST.slice(0, 12)}…\n`);
    expect(await child.stderr.text()).toBe("holdfast: stopped before the end\n");
    expect(await child.exited).toBe(code);
  });
});
