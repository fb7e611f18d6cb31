import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { cp, mkdir, rename, truncate, writeFile } from "node:fs/promises";
import { z } from "zod";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, rewriteHeader, SEQ } from "../fixtures/damaged-store.ts";
import { type CommandOptions, type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab, STORES } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const ONE_MESSAGE = /^holdfast: [^\n]+\n( {2}where: [^\n]+\n)? {2}hint: [^\n]+\n$/;

function list(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["sessions", "list", ...args], options);
}

const sessionSchema = z.looseObject({ id: z.string(), location: z.string().optional() });

/** What `--json` printed, line by line. */
function listed({ stdout }: Finished): z.infer<typeof sessionSchema>[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => sessionSchema.parse(JSON.parse(line)));
}

/** Stores sessions of one event each. */
async function fill(name: string, ids: readonly string[]): Promise<void> {
  await withStore(name, async (store) => {
    for (const id of ids) await plant(store, id, recordsOfDrafts([title(0)]));
  });
}

const HEADER = { version: 0, createdAt: 1_700_000_000_000, cwd: "/srv/x", delegationDepth: 0 };

describe("a list", () => {
  test("is a table with a line for each session", async () => {
    await using folder = await TempFolder.create();
    await fill(folder.at("a.db"), ["first", "second"]);
    expect(await list([folder.at("a.db")])).toEqual({
      code: 0,
      stdout: [
        "ID      CREATED               FOLDER  STATE",
        "second  2023-11-14T22:13:20Z  /srv/x  ok",
        "first   2023-11-14T22:13:20Z  /srv/x  ok",
        "",
      ].join("\n"),
      stderr: "",
    });
  });

  test("is one JSON object a line with --json", async () => {
    await using folder = await TempFolder.create();
    await fill(folder.at("a.db"), ["first", "second"]);
    const finished = await list([folder.at("a.db"), "--json"]);
    expect(listed(finished)).toEqual([
      { id: "second", state: "ok", header: { ...HEADER, id: "second" } },
      { id: "first", state: "ok", header: { ...HEADER, id: "first" } },
    ]);
    expect(finished).toMatchObject({ code: 0, stderr: "" });
  });

  test("of a store without sessions says so, and is no failure", async () => {
    await using folder = await TempFolder.create();
    await fill(folder.at("a.db"), []);
    await mkdir(folder.at("logs"));
    for (const name of ["a.db", "logs"]) {
      const { code, stdout, stderr } = await list([folder.at(name)]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).toStartWith("There is no session in ");
    }
  });

  test("has every session of many, on however many pages", async () => {
    await using folder = await TempFolder.create();
    const ids = Array.from({ length: 5_100 }, (_, k) => `session-${k}`);
    await fill(folder.at("a.db"), ids);
    const { stdout } = await list([folder.at("a.db")]);
    const shown = stdout.split("\n").slice(1, -1);
    expect(shown.map((line) => line.split(" ")[0])).toEqual(ids.toReversed());
    expect(new Set(shown.map((line) => line.length)).size).toBe(1);
    const check = await list([folder.at("a.db"), "--check", "--json"]);
    expect(listed(check)).toHaveLength(5_100);
  });

  test("shows no control character of a session as it is", async () => {
    await using folder = await TempFolder.create();
    const id = "a\u001b[31m\nb\u202e";
    await withStore(folder.at("a.db"), (store) =>
      plant(store, id, recordsOfDrafts([title(0)]), { cwd: "/srv/\u0007\u009b" }),
    );
    const { stdout } = await list([folder.at("a.db")]);
    expect(stdout.split("\n")[1]).toContain("a\\u001b[31m\\u000ab\\u202e");
    expect(stdout.split("\n")[1]).toContain("/srv/\\u0007\\u009b");
    expect(stdout).not.toMatch(/[^\n -~]/);
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

describe("a session that is not sound is listed with its state and the reason:", () => {
  test("a header that was changed, and one of a newer version", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    damage(folder.at("a.db"), (database) => {
      database.run("UPDATE sessions SET header = replace(header, '17', '18')");
    });
    await makeStore(folder.at("b.db"));
    damage(folder.at("b.db"), (database) => rewriteHeader(database, '"version":0', '"version":7'));
    const corrupt = await list([folder.at("a.db"), "--json"]);
    expect(corrupt.code).toBe(0);
    expect(listed(corrupt)).toEqual([
      { id: "default", state: "corrupt", reason: expect.stringContaining("checksum") },
    ]);
    expect((await list([folder.at("a.db"), "--check"])).code).toBe(5);
    const newer = await list([folder.at("b.db"), "--check", "--json"]);
    expect(newer.code).toBe(0);
    expect(listed(newer)).toMatchObject([
      { state: "unsupported", reason: expect.stringContaining("version 7") },
    ]);
    expect((await list([folder.at("b.db")])).stdout).toMatch(/^default +- +- +unsupported: .*version 7/m);
  });

  test("files of several places with one id, and a log of a later format", async () => {
    await using folder = await TempFolder.create();
    const root = folder.at("logs");
    await fill(`jsonl:${root}`, ["twice", "later"]);
    const project = "--srv-x--";
    await cp(`${root}/${project}/twice`, `${root}/other/twice`, { recursive: true });
    await rename(
      `${root}/${project}/later/session.jsonl.zstd`,
      `${root}/${project}/later/session.v4.jsonl.zstd`,
    );
    const finished = await list([root, "--json"]);
    expect(finished.code).toBe(0);
    const states = listed(finished);
    expect(states).toHaveLength(3);
    expect(states).toContainEqual(expect.objectContaining({ id: "later", state: "unsupported" }));
    for (const place of [project, "other"]) {
      const location = `${root}/${place}/twice/session.jsonl.zstd`;
      expect(states).toContainEqual(expect.objectContaining({ id: "twice", state: "duplicate", location }));
    }
  });

  test("with --check also what only shows inside: damage, what was never fully written, unknown events", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    damage(folder.at("a.db"), (database) =>
      rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }),
    );
    expect(listed(await list([folder.at("a.db"), "--json"]))).toMatchObject([{ state: "ok" }]);
    const damaged = await list([folder.at("a.db"), "--check", "--json"]);
    expect(damaged.code).toBe(5);
    expect(listed(damaged)).toMatchObject([
      { state: "corrupt", events: SEQ.message, reason: expect.stringContaining(`seq ${SEQ.message}`) },
    ]);

    const root = `jsonl:${folder.at("logs")}`;
    await withStore(root, async (store) => {
      await plant(store, "torn", recordsOfDrafts([title(0)]));
      await plant(store, "torn", recordsOfTexts(['{"type":"session/title","seq":1,"time":0,"data":{}}']));
      await plant(store, "unknown", recordsOfTexts(['{"type":"future/thing","seq":0,"time":0,"data":{}}']));
    });
    const before = listed(await list([root, "--json"]));
    const location = before.find(({ id }) => id === "torn")?.location ?? "";
    await truncate(location, (await Bun.file(location).stat()).size - 40);
    const checked = await list([root, "--check", "--json"]);
    expect(checked.code).toBe(0);
    expect(listed(checked)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: "torn", state: "ok", events: 1, torn: true }),
        expect.objectContaining({
          id: "unknown",
          state: "unsupported",
          events: 1,
          reason: expect.stringContaining("future/thing"),
        }),
      ]),
    );
    expect((await list([root, "--check"])).stdout).toContain(
      "ok: the end of the log is damaged or was never fully written",
    );
  });
});

describe("which store is read", () => {
  test("is said by an argument, a flag or a variable, in this order", async () => {
    await using folder = await TempFolder.create();
    await fill(folder.at("a.db"), ["in-a"]);
    await fill(folder.at("b.db"), ["in-b"]);
    await fill(`jsonl:${folder.at("logs")}`, ["in-logs"]);
    const env = { HOLDFAST_SESSION_DB: "a.db" };
    const cases: ReadonlyArray<readonly [readonly string[], Record<string, string>, string]> = [
      [[], env, "in-a"],
      [["--session-db", "b.db"], env, "in-b"],
      [["--session-dir", "logs"], env, "in-logs"],
      [["--session-db", "b.db"], { HOLDFAST_SESSION_DIR: "logs" }, "in-b"],
      [["b.db"], { HOLDFAST_SESSION_DIR: "logs" }, "in-b"],
      [["jsonl:logs"], env, "in-logs"],
      [["logs"], { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_SESSION_DIR: "x" }, "in-logs"],
      [[], { HOLDFAST_SESSION_DB: "", HOLDFAST_SESSION_DIR: "logs" }, "in-logs"],
    ];
    for (const [args, variables, id] of cases) {
      const { code, stdout } = await list(args, { cwd: folder.path, env: variables });
      expect({ code, shown: stdout.includes(id) }, `${args} ${id}`).toEqual({ code: 0, shown: true });
    }
  });

  const both = { HOLDFAST_SESSION_DB: "a.db", HOLDFAST_SESSION_DIR: "logs" };
  test.each([
    ["no store at all", [], {}],
    ["two flags", ["--session-db", "a.db", "--session-dir", "logs"], {}],
    ["two variables", [], both],
    ["a flag and an argument", ["--session-db", "a.db", "b.db"], {}],
    ["two arguments", ["a.db", "b.db"], {}],
    ["an empty flag", ["--session-db", ""], {}],
    ["an empty argument", [""], {}],
    ["a kind of store that there is not", ["postgres:x"], {}],
    ["a kind without a path", ["sqlite:"], {}],
    ["an unknown flag", ["--all", "a.db"], {}],
  ])("is not said by %s: a mistake of usage", async (_, args, env) => {
    await using folder = await TempFolder.create();
    const { code, stdout, stderr } = await list(args, { cwd: folder.path, env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(await folderState(folder.path)).toEqual([]);
  });

  test("must be there: reading makes neither file nor folder", async () => {
    await using folder = await TempFolder.create();
    for (const args of [["a/b.db"], ["jsonl:logs"], ["new-folder"], ["--session-dir", "x/y"]]) {
      const { code, stdout, stderr } = await list(args, { cwd: folder.path });
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr).toMatch(ONE_MESSAGE);
    }
    expect(await folderState(folder.path)).toEqual([]);
  });

  test.each([
    ["a text file", "notes.txt", 7],
    ["a text file as a root of logs", "jsonl:notes.txt", 1],
    ["a folder as a database", "sqlite:.", 1],
    ["a path below a file", "notes.txt/a.db", 1],
  ])("cannot be %s", async (_, name, expected) => {
    await using folder = await TempFolder.create();
    await writeFile(folder.at("notes.txt"), "Remember the milk.\n".repeat(20));
    const before = await folderState(folder.path);
    const { code, stdout, stderr } = await list([name], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toMatch(ONE_MESSAGE);
    expect(await folderState(folder.path)).toEqual(before);
  });
});
