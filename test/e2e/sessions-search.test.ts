import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  callBlock,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { executablePath, type Finished, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { linesOf } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const AT = { turn: 1, step: 1 };
const ARGUMENTS = '{"query": "milk"}';
/** What goes back and forth for as good as ever in an expression such as `(x+)+!`. */
const TRAP = "x".repeat(60);
const WIDE = "漢字".repeat(40);

const OLDER = recordsOfDrafts([turnStart(1), userMessage(`The milk again. ${TRAP}`), turnEnd(1)]);
const NEWER = recordsOfDrafts([
  turnStart(1),
  userMessage("Where is the\n\n  MILK?\u001b[2J"),
  stepStart(AT),
  assistantMessage(AT, [
    { type: "reasoning", text: "They want milk." },
    textBlock("I look."),
    callBlock("c1", "se\u0007ek", ARGUMENTS),
  ]),
  toolCall(AT, "c1", "se\u0007ek", ARGUMENTS),
  toolResult(AT, "c1", `${WIDE} milk ${WIDE}`),
  stepEnd(AT),
  turnEnd(1),
]);

let folder: TempFolder;

beforeAll(async () => {
  folder = await TempFolder.create();
  for (const store of ["a.db", "logs"]) {
    await withStore(folder.at(store), async (opened) => {
      await plant(opened, "older", OLDER, { createdAt: 1 });
      await plant(opened, "newer", NEWER, { createdAt: 2 });
    });
  }
});

afterAll(() => folder[Symbol.asyncDispose]());

function search(...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "search", ...args], { cwd: folder.path });
}

describe("hits", () => {
  test("are lines for a person, the newest session first, and nothing in them steers a terminal", async () => {
    const before = await folderState(folder.path);
    expect(await search("milk", "a.db")).toEqual({
      code: 0,
      stdout: [
        "newer  seq 1  turn 1  user  Where is the MILK?\\u001b[2J",
        'newer  seq 3  turn 1  tool se\\u0007ek arguments  {"query": "milk"}',
        `newer  seq 5  turn 1  tool se\\u0007ek result  …${"漢字".repeat(10).slice(1)} milk ${"漢字".repeat(20).slice(0, 39)}…`,
        `older  seq 1  turn 1  user  The milk again. ${TRAP}`,
        "",
      ].join("\n"),
      stderr: "holdfast: 4 hits in 2 sessions, of 2 searched\n",
    });
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.each(["a.db", "logs"])("are the same as JSON, of whoever is asked for: %s", async (store) => {
    const finished = await search("MILK", store, "--json", "--in", "reasoning, tool", "--session", "new");
    expect(finished.code).toBe(0);
    const place = { sessionId: "newer", turn: 1 };
    const tool = { who: "tool", tool: "se\u0007ek" };
    expect(linesOf(finished)).toEqual([
      { ...place, seq: 3, who: "reasoning", before: "They want ", match: "milk", after: "." },
      { ...place, seq: 3, ...tool, part: "arguments", before: '{"query": "', match: "milk", after: '"}' },
      {
        ...place,
        seq: 5,
        ...tool,
        part: "result",
        before: `…${WIDE.slice(-39)} `,
        match: "milk",
        after: ` ${WIDE.slice(0, 79)}…`,
      },
    ]);
  });

  test.each([
    ["a regular expression", ["--regex", "^ *mil.\\?$|^ *mil.\\?"], 1, 0],
    ["a regular expression, and its case", ["--regex", "^ *MILK", "--case-sensitive"], 1, 0],
    ["its case", ["Milk", "--case-sensitive"], 0, 1],
    ["nothing that is there", ["butter"], 0, 1],
    ["only so many", ["milk", "--limit", "2"], 2, 0],
  ] as const)("are those of %s", async (_, args, hits, code) => {
    const finished = await search(...args, "logs");
    expect(finished.stdout.split("\n")).toHaveLength(hits + 1);
    expect(finished.code).toBe(code);
  });
});

describe("on a terminal", () => {
  test.each([
    [50, {}, "\u001b[1;31mmilk\u001b[0m"],
    [120, { NO_COLOR: "1" }, "milk"],
  ] as const)("of %p columns a hit is one line, and the match is marked: %p", async (columns, env, shown) => {
    const args = ["sessions", "search", "milk", folder.at("a.db"), "--in", "tool"];
    await using terminal = new TerminalProcess(args, { columns, env });
    expect(await terminal.exited).toEqual({ code: 0 });
    const lines = Bun.stripANSI(terminal.text).split(/\r?\n/);
    const [hit = ""] = lines.filter((line) => line.includes("字"));
    expect(hit).toMatch(/…[漢字]+ milk [漢字]+…$/);
    expect(Bun.stringWidth(hit)).toBeLessThanOrEqual(columns);
    expect(terminal.text).toContain(` ${shown} `);
    expect(terminal.text.includes("\u001b[1;31m")).toBe(shown !== "milk");
  });

  test("Ctrl-C ends an expression that never comes back", async () => {
    const args = ["sessions", "search", "--regex", "where|(x+x+)+!", folder.at("a.db")];
    await using terminal = new TerminalProcess(args);
    await terminal.sees(/Where/);
    terminal.kill("SIGINT");
    expect(await terminal.exited).toEqual({ signal: "SIGINT" });
  });
});

test("a reader that leaves ends the search", async () => {
  await using own = await TempFolder.create();
  const many = Array.from({ length: 4_000 }, (_, k) => userMessage(`milk ${k}`));
  await withStore(own.at("many"), (store) => plant(store, "m", recordsOfDrafts([turnStart(1), ...many])));
  const script = '{ "$0" sessions search milk many; echo "code $?" >&2; } | head -n 1';
  const { stdout, stderr } = await runCommand(["sh", "-c", script, executablePath()], { cwd: own.path });
  expect(stdout).toBe("m  seq 1  turn 1  user  milk 0\n");
  expect(stderr).toBe("code 0\n");
});

test("a damaged session is searched up to its damage, which stderr and the exit code tell", async () => {
  await using own = await TempFolder.create();
  const store = own.at("a.db");
  await makeStore(store);
  damage(store, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
  const { code, stdout, stderr } = await search("e", store);
  expect({ code, stdout }).toEqual({ code: 5, stdout: "default  seq 1  turn 1  user  What do I need?\n" });
  expect(stderr).toContain("The checksum of a row does not match");
  expect(stderr).toEndWith("holdfast: 1 hit in 1 session, of 1 searched\n");
});

test("a database of some size gets an index, unless it shall not", async () => {
  await using own = await TempFolder.create();
  const store = own.at("large.db");
  const turns = Array.from({ length: 12 }, (_, k) => [
    turnStart(k),
    userMessage(`${`word${k} and more `.repeat(30_000)} needle${k}`),
    turnEnd(k),
  ]);
  await withStore(store, (opened) => plant(opened, "l", recordsOfDrafts(turns.flat())));
  const before = await folderState(own.path);
  const read = await search("needle7", store, "--no-index");
  expect(await folderState(own.path)).toEqual(before);
  const indexing = await search("needle7", store);
  const indexed = await search("needle7", store);
  expect(read.stdout).toMatch(/^l {2}seq 22 .* needle7\n$/);
  expect([indexing, indexed]).toEqual([read, read]);
  using database = new Database(store, { readonly: true });
  expect(database.query("SELECT max(next) AS next FROM search_ranges").get()).toEqual({ next: 36 });
});

test("why a database gets no index is told, and the hits are the same", async () => {
  await using own = await TempFolder.create();
  const store = own.at("large.db");
  const drafts = [turnStart(1), userMessage("milk ".repeat(1_000_000)), turnEnd(1)];
  await withStore(store, (opened) => plant(opened, "l", recordsOfDrafts(drafts)));
  damage(store, (database) => database.run("CREATE TABLE search_ranges (mine)"));
  const { code, stdout, stderr } = await search("milk milk", store);
  expect({ code, lines: stdout.split("\n").length }).toEqual({ code: 0, lines: 2 });
  expect(stderr).toMatch(/^holdfast: the index was not brought up to date: Other tables have the names/);
});

describe("refused are", () => {
  test.each([
    ["no text", ["", "a.db"], 2, "There is no text to search for"],
    ["an expression that is none", ["--regex", "(", "a.db"], 2, '"(" is no regular expression'],
    ["others than speak", ["x", "a.db", "--in", "user,system"], 2, 'there is no "system"'],
    ["a limit that is none", ["x", "a.db", "--limit", "0"], 2, "a whole number from 1"],
    ["a session that is not there", ["x", "a.db", "--session", "nope"], 3, 'There is no session "nope"'],
    ["a store that is not there", ["x", "b.db"], 3, "There is no store"],
  ] as const)("%s", async (_, args, exit, message) => {
    const { code, stdout, stderr } = await search(...args);
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
    expect(stderr).toContain(message);
  });
});
