import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { z } from "zod";
import type { EventDraft } from "../../src/session/events.ts";
import { title } from "../contract/support.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { type CommandOptions, type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab, STORES } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const HOUR = 3_600_000;

function list(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["sessions", "list", ...args], options);
}

const sessionSchema = z.looseObject({ id: z.string(), location: z.string().optional() });

/** What `--json` printed, line by line, without the page. */
function listed({ stdout }: Finished): z.infer<typeof sessionSchema>[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines
    .filter((line) => !line.startsWith('{"page"'))
    .map((line) => sessionSchema.parse(JSON.parse(line)));
}

/** Stores sessions of one event each. */
async function fill(name: string, ids: readonly string[]): Promise<void> {
  await withStore(name, async (store) => {
    for (const id of ids) await plant(store, id, recordsOfDrafts([title(0)]));
  });
}

const ENV = { TZ: "UTC" };
const STARTED = 1_700_000_000_000;

/** A store of three sessions: the last one that was made was active first, and one is open. */
async function makeFew(name: string): Promise<void> {
  await withStore(name, async (store) => {
    const events = (...drafts: readonly EventDraft[]) =>
      drafts.map((draft, seq) => JSON.stringify({ ...draft, seq, time: STARTED + seq * HOUR }));
    const renamed: EventDraft = { type: "session/title", data: { title: "Bread" } };
    const turn = [turnStart(1), userMessage("Where is the milk?"), turnEnd(1)];
    await plant(store, "milk", recordsOfTexts(events(...turn, turnStart(2))));
    await plant(store, "bread", recordsOfTexts(events(...turn, renamed, renamed, renamed)));
    await plant(store, "fork", recordsOfTexts(events(...turn)), {
      cwd: "/srv/x/deep",
      parentSession: "milk",
    });
  });
}

describe("a list", () => {
  test.each(["sqlite:store", "jsonl:store"])("has the last active session first: %s", async (name) => {
    await using folder = await TempFolder.create();
    const options = { cwd: folder.path, env: ENV };
    await withStore(`${name.split(":")[0]}:${folder.at("store")}`, async () => undefined);
    await makeFew(`${name.split(":")[0]}:${folder.at("store")}`);
    const table = {
      code: 0,
      stdout: [
        "ID     TITLE                 STARTED           LAST ACTIVE       TURNS  EVENTS   SIZE  STATE",
        "bread  Bread                 2023-11-14 22:13  2023-11-15 03:13      1       6  606 B  ok",
        "milk   Where is the milk?    2023-11-14 22:13  2023-11-15 01:13      2       4  440 B  interrupted",
        "fork   ↳ Where is the milk?  2023-11-14 22:13  2023-11-15 00:13      1       3  372 B  ok",
        "",
      ].join("\n"),
      stderr: "",
    };
    expect(await list([name], options)).toEqual(table);
    // The second time out of the cache, and then without it.
    expect(await list([name], options)).toEqual(table);
    expect(await list([name, "--no-cache", "--check"], options)).toEqual(table);
    expect(await list([name, "--ids"], options)).toEqual({
      code: 0,
      stdout: name.startsWith("sqlite") ? "fork\nbread\nmilk\n" : "bread\nmilk\nfork\n",
      stderr: "",
    });
  });

  test.each(["sqlite", "jsonl"])("shows what a session has come to since the last one: %s", async (kind) => {
    await using folder = await TempFolder.create();
    const options = { cwd: folder.path, env: ENV };
    const name = `${kind}:${folder.at("store")}`;
    await makeFew(name);
    await list([name], options);
    const renamed = { type: "session/title", seq: 4, time: STARTED + 9 * HOUR, data: { title: "Cheese" } };
    await withStore(name, (store) => store.append("milk", [renamed]));
    const grown = await list([name, "--limit", "1"], options);
    expect(grown.stdout.split("\n")[1]).toBe(
      "milk  Cheese  2023-11-14 22:13  2023-11-15 07:13      2       5  519 B  interrupted",
    );
    expect(await list([name, "--limit", "1", "--no-cache"], options)).toEqual(grown);
  });

  test("is filtered, and then paged, with a total and a way to go on", async () => {
    await using folder = await TempFolder.create();
    await makeFew(folder.at("a.db"));
    const ids = async (...args: readonly string[]) =>
      listed(await list([folder.at("a.db"), "--json", ...args])).map(({ id }) => id);
    expect(await ids("--cwd", "/srv/x/deep")).toEqual(["fork"]);
    expect(await ids("--parent", "milk")).toEqual(["fork"]);
    expect(await ids("--grep", "MILK")).toEqual(["milk", "fork"]);
    expect(await ids("--state", "interrupted", "--state", "torn,empty")).toEqual(["milk"]);
    expect(await ids("--since", "2023-11-15T01:13:20Z")).toEqual(["bread", "milk"]);
    expect(await ids("--grep", "milk", "--limit", "1")).toEqual(["milk"]);
    const first = await list([folder.at("a.db"), "--limit", "2"]);
    const [, cursor = ""] = /^2 of 3 sessions; the next: --cursor (\S+)\n$/.exec(first.stderr) ?? [];
    expect(await list([folder.at("a.db"), "--limit", "2", "--cursor", cursor])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ID .*\nfork .*\n$/),
      stderr: "1 of 3 sessions\n",
    });
    const json = await list([folder.at("a.db"), "--limit", "2", "--json"]);
    const page = JSON.parse(json.stdout.split("\n").at(-2) ?? "");
    expect({ page, stderr: json.stderr }).toEqual({
      page: { page: { total: 3, nextCursor: cursor } },
      stderr: "",
    });
    const none = await list([folder.at("a.db"), "--grep", "butter"]);
    expect(none).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^None of the 3 sessions /),
    });
  });

  test("is one JSON object a line with --json", async () => {
    await using folder = await TempFolder.create();
    await makeFew(folder.at("a.db"));
    const finished = await list([folder.at("a.db"), "--json", "--grep", "where"]);
    expect(finished).toMatchObject({ code: 0, stderr: "" });
    expect(listed(finished)[0]).toEqual({
      id: "milk",
      title: "Where is the milk?",
      state: "interrupted",
      startedAt: "2023-11-14T22:13:20.000Z",
      firstEventAt: "2023-11-14T22:13:20.000Z",
      lastActiveAt: "2023-11-15T01:13:20.000Z",
      turns: 2,
      openTurn: 2,
      events: 4,
      bytes: 440,
      header: { version: 0, id: "milk", createdAt: STARTED, cwd: "/srv/x", delegationDepth: 0 },
    });
  });

  test("fits a terminal", async () => {
    await using folder = await TempFolder.create();
    await makeFew(folder.at("a.db"));
    await using terminal = new TerminalProcess(["sessions", "list", folder.at("a.db")], {
      columns: 60,
      env: ENV,
    });
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text.slice(terminal.text.indexOf("ID ")).split("\r\n")).toEqual([
      "ID     TITLE                 LAST ACTIVE       STATE",
      "bread  Bread                 2023-11-15 03:13  ok",
      "milk   Where is the milk?    2023-11-15 01:13  interrupted",
      "fork   ↳ Where is the milk?  2023-11-15 00:13  ok",
      "",
    ]);
  });

  test("of a store without sessions says so, and is no failure; of a folder that is no store it is one", async () => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("other"));
    for (const name of ["a.db", "logs"]) {
      await fill(folder.at(name), []);
      const { code, stdout, stderr } = await list([folder.at(name)]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).toStartWith("There is no session in ");
    }
    expect(await list([folder.at("other")])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("There is no session log in the folder"),
    });
  });

  test("shows no control character of a session as it is", async () => {
    await using folder = await TempFolder.create();
    const id = "a\u001b[31m\nb\u202e";
    const titled = { type: "session/title", data: { title: "\u0007\u009b milk \u2066" } } as const;
    await withStore(folder.at("a.db"), (store) => plant(store, id, recordsOfDrafts([titled])));
    for (const flag of ["--check", "--ids", "--json"]) {
      const { stdout } = await list([folder.at("a.db"), flag]);
      expect(stdout).toMatch(/a\\u001b\[31m(\\n|\\u000a)b\\u202e/);
      if (flag !== "--ids") expect(stdout).toContain("\\u0007\\u009b milk \\u2066");
      expect(stdout).not.toMatch(/[^\n -~]/);
    }
  });
});

describe("reading", () => {
  test("leaves a store that nobody has open as it is, with no file beside it", async () => {
    await using folder = await TempFolder.create();
    await fill(folder.at("a.db"), ["s"]);
    await fill(`jsonl:${folder.at("logs")}`, ["s"]);
    const before = await folderState(folder.path);
    for (const name of ["a.db", "logs"]) {
      for (const flag of ["--json", "--check"]) expect((await list([folder.at(name), flag])).code).toBe(0);
    }
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.each(STORES)("works while a Host writes the store, and lets it write on: %s", async (kind) => {
    await using lab = await HostLab.on(kind, textReply("one"), textReply("two"));
    const host = await lab.start();
    await host.client.invoke("hello");
    for (const turn of [2, 3]) {
      const finished = await list([lab.store, "--check", "--json"]);
      expect(finished).toMatchObject({ code: 0, stderr: "" });
      const { nextSeq } = await host.client.read();
      expect(listed(finished)).toMatchObject([{ id: "default", state: "ok", events: nextSeq }]);
      lab.server.script(textReply(`answer ${turn}`));
      expect((await host.client.invoke("again")).body).toMatchObject({ turn });
    }
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  });

  test("finds what a killed Host left in its write-ahead log", async () => {
    await using lab = await HostLab.create(textReply("one"));
    const host = await lab.start();
    await host.client.invoke("hello");
    const { nextSeq } = await host.client.read();
    await host.stop("SIGKILL");
    const finished = await list([lab.store, "--check", "--json"]);
    expect(listed(finished)).toMatchObject([{ state: "ok", events: nextSeq }]);
  });
});
