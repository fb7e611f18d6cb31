import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { cp, symlink, truncate } from "node:fs/promises";
import type { SessionRecord } from "../../src/session/records.ts";
import { deltas, title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { type Finished, runHoldfast } from "../fixtures/executable.ts";
import { linesOf, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const OPEN_TURN = recordsOfDrafts([turnStart(1), userMessage("Go on."), ...deltas(20)]);
const ODD = recordsOfTexts([
  '{"seq":0,"type":"session/title","data":{"n":12345678901234567890,"é":"\\u00e9\\ud800"},"time":7,"x":1.50}',
  '{"type":"future/event","seq":1,"time":7,"data":"\\/\u2028"}',
  '{"type":"turn/start","seq":2,"time":3,"data":{"turn":1,"trigger":{"kind":"user"}}}',
]);

function copy(folder: TempFolder, ...args: readonly string[]): Promise<Finished> {
  return sessions(folder, "copy", ...args);
}

async function eventsOf(folder: TempFolder, store: string, id: string): Promise<string> {
  return (await runHoldfast(["sessions", "show", id, store, "--events"], { cwd: folder.path })).stdout;
}

/** A folder with a store `a.db` that holds these sessions. */
async function holding(sessions: Readonly<Record<string, readonly SessionRecord[]>>): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await withStore(folder.at("a.db"), async (store) => {
    for (const [id, records] of Object.entries(sessions)) await plant(store, id, records, { future: [1] });
  });
  return folder;
}

describe("a copy", () => {
  test("of all sessions, there and back again, is the same byte for byte, and in the same order", async () => {
    await using folder = await holding({ odd: ODD, open: OPEN_TURN, "~/.:": recordsOfDrafts([title(0)]) });
    const there = await copy(folder, "--all", "--from", "a.db", "--to", "jsonl:logs");
    expect(there).toMatchObject({ code: 0, stderr: "" });
    expect(there.stdout).toMatch(
      /^copied odd: 3 events, sha256 [0-9a-f]{12}…\ncopied open: 22 events, sha256 /,
    );
    expect(there.stdout).toEndWith("\n3 copied, 0 already there, 0 failed\n");
    const before = await folderState(folder.path);
    const back = await copy(folder, "--all", "--from", "logs", "--to", "sqlite:back", "--json");
    expect(back).toMatchObject({ code: 0, stderr: "" });
    const after = await folderState(folder.path);
    expect(after.filter((line) => !line.startsWith("back"))).toEqual(before);
    for (const id of ["odd", "open", "~/.:"]) {
      const events = await eventsOf(folder, "a.db", id);
      expect(await eventsOf(folder, "logs", id)).toBe(events);
      expect(await eventsOf(folder, "back", id)).toBe(events);
      const digest = sha256(events.trimEnd());
      expect(linesOf(back)).toContainEqual(
        expect.objectContaining({ id, state: "copied", digest, torn: false }),
      );
    }
    const lists = await Promise.all(["a.db", "back"].map((name) => sessions(folder, "list", name, "--json")));
    const [original, copied] = lists.map((list) =>
      linesOf(list).toSorted((a, b) => (String(a["id"]) < String(b["id"]) ? -1 : 1)),
    );
    expect(copied).toEqual(original ?? []);
  });

  test("keeps the order in which a database lists its sessions", async () => {
    await using folder = await holding(Object.fromEntries(["c", "a", "b"].map((id) => [id, ODD])));
    await copy(folder, "--all", "--from", "a.db", "--to", "b.db");
    const { stdout } = await runHoldfast(["sessions", "list", folder.at("b.db"), "--ids"]);
    expect(stdout).toBe("b\na\nc\n");
  });

  test("is gone through in the same order in every kind of store, also where sessions are of the same age", async () => {
    await using folder = await holding(Object.fromEntries(["c", "a", "b", "é", "B"].map((id) => [id, ODD])));
    await copy(folder, "--all", "--from", "a.db", "--to", "jsonl:logs");
    const runs = [
      [["export", "--all", "--format", "jsonl"], /"id":"(.)"/g, ["B", "a", "b", "c", "é"]],
      [["prune", "--older-than", "1d", "--keep", "2", "--dry-run"], /^(.) {3}/gm, ["é", "c", "b"]],
    ] as const;
    for (const [args, pattern, ids] of runs) {
      const { stdout: original } = await sessions(folder, ...args, "a.db");
      const { stdout: copied } = await sessions(folder, ...args, "logs");
      expect(copied.replace("jsonl:logs", "sqlite:a.db")).toBe(original);
      expect(Array.from(copied.matchAll(pattern), ([, id]) => id)).toEqual([...ids]);
    }
  });

  test("of named sessions takes these alone, each once", async () => {
    await using folder = await holding({ a: ODD, b: ODD, c: ODD });
    const finished = await copy(folder, "c", "a", "c", "--from", "a.db", "--to", "b.db", "--json");
    expect(linesOf(finished).map(({ id }) => id)).toEqual(["c", "a"]);
    expect((await runHoldfast(["sessions", "list", folder.at("b.db")])).stdout.match(/\n/g)).toHaveLength(3);
  });

  test("again finds everything there, and changes nothing", async () => {
    await using folder = await holding({ odd: ODD, open: OPEN_TURN });
    for (const to of ["jsonl:logs", "b.db"]) {
      await copy(folder, "--all", "--from", "a.db", "--to", to);
      const before = await folderState(folder.path);
      const again = await copy(folder, "--all", "--from", "a.db", "--to", to);
      expect(again.code).toBe(0);
      expect(again.stdout).toMatch(/^already there odd: 3 events, sha256 /);
      expect(again.stdout).toEndWith("\n0 copied, 2 already there, 0 failed\n");
      expect(await folderState(folder.path)).toEqual(before);
    }
  });

  test("is made while a Host writes the source, and completed later", async () => {
    await using lab = await HostLab.create(textReply("one"), textReply("two"));
    const host = await lab.start();
    await host.client.invoke("hello");
    const args = ["--all", "--from", lab.store, "--to", "jsonl:logs", "--json"];
    const [first] = linesOf(await copy(lab.folder, ...args));
    expect(first).toMatchObject({ state: "copied" });
    expect((await host.client.invoke("again")).body).toMatchObject({ turn: 2 });
    const [second] = linesOf(await copy(lab.folder, ...args));
    const { nextSeq } = await host.client.read();
    expect(second).toMatchObject({ state: "copied", events: nextSeq });
    expect(Number(second?.["written"])).toBeLessThan(nextSeq);
    await host.stop("SIGTERM");
    expect(linesOf(await copy(lab.folder, ...args))).toMatchObject([{ state: "there", events: nextSeq }]);
  });

  test("goes on where a log was cut in the middle of a batch, and sets the rest of it aside", async () => {
    await using folder = await holding({ open: OPEN_TURN });
    const args = ["--all", "--from", "a.db", "--to", "jsonl:logs"];
    await copy(folder, ...args);
    const log = folder.at("logs", "--srv-x--", "open", "session.jsonl.zstd");
    await truncate(log, Bun.file(log).size - 200);
    const { code, stdout } = await copy(folder, ...args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^copied open: 22 events/) });
    expect(await eventsOf(folder, "logs", "open")).toBe(await eventsOf(folder, "a.db", "open"));
    expect((await folderState(folder.at("logs"))).join("\n")).toContain("torn");
  });
});

describe("a session that cannot be copied", () => {
  test("does not keep the others from being copied, and gives its exit code", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    await withStore(folder.at("a.db"), (store) => plant(store, "sound", ODD));
    damage(folder.at("a.db"), (database) =>
      rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }),
    );
    const finished = await copy(folder, "--all", "--from", "a.db", "--to", "b.db");
    expect(finished.code).toBe(5);
    expect(finished.stdout).toMatch(/^failed default: The checksum of a row does not match.*seq 8\)$/m);
    expect(finished.stdout).toMatch(/^copied sound: 3 events/m);
    expect(finished.stdout).toEndWith("\n1 copied, 0 already there, 1 failed\n");
    const { stdout } = await runHoldfast(["sessions", "list", folder.at("b.db"), "--json"]);
    expect(stdout.match(/"id":"\w+","state"/g)).toEqual(['"id":"sound","state"']);
  });

  test("since the target has another one of its id is a conflict, and both stay as they are", async () => {
    await using folder = await holding({ s: ODD });
    await withStore(folder.at("b.db"), (store) => plant(store, "s", OPEN_TURN));
    const before = await eventsOf(folder, "b.db", "s");
    const finished = await copy(folder, "s", "--from", "a.db", "--to", "b.db", "--json");
    expect(finished.code).toBe(4);
    expect(linesOf(finished)).toEqual([
      {
        id: "s",
        state: "failed",
        code: "already-exists",
        reason: expect.stringMatching(/has (other events|another header|\d+ events more)/),
      },
    ]);
    expect(await eventsOf(folder, "b.db", "s")).toBe(before);
  });

  test("since it is not there makes no target", async () => {
    await using folder = await holding({ s: ODD });
    const before = await folderState(folder.path);
    const finished = await copy(folder, "nope", "--from", "a.db", "--to", "b.db");
    expect(finished).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^failed nope: There is no session/),
    });
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("since several files have its id is left out, with each of them", async () => {
    await using folder = await TempFolder.create();
    await withStore(`jsonl:${folder.at("logs")}`, (store) => plant(store, "s", ODD));
    await cp(folder.at("logs", "--srv-x--"), folder.at("logs", "other"), { recursive: true });
    const finished = await copy(folder, "--all", "--from", "logs", "--to", "b.db", "--json");
    expect(finished.code).toBe(1);
    expect(linesOf(finished)).toMatchObject([
      { id: "s", state: "failed", code: "storage-failed", reason: expect.stringContaining("other") },
      { id: "s", state: "failed", code: "storage-failed", reason: expect.stringContaining("--srv-x--") },
    ]);
    expect(existsSync(folder.at("b.db"))).toBe(false);
  });

  test("of a newer version is left out with the reason", async () => {
    await using folder = await holding({ s: ODD });
    damage(folder.at("a.db"), (database) => {
      const header = '{"version":3,"id":"s","createdAt":1}';
      database
        .query("UPDATE sessions SET header = ?, checksum = ?")
        .run(header, Bun.hash.crc32(`s\n${header}`));
    });
    const finished = await copy(folder, "--all", "--from", "a.db", "--to", "b.db", "--json");
    expect(finished.code).toBe(7);
    expect(linesOf(finished)).toMatchObject([{ state: "failed", code: "unsupported-format" }]);
    expect(existsSync(folder.at("b.db"))).toBe(false);
  });
});

describe("a target", () => {
  test("that a Host holds is refused as locked, and left to it", async () => {
    await using lab = await HostLab.create(textReply("one"));
    await lab.start();
    await withStore(lab.folder.at("a.db"), (store) => plant(store, "s", ODD));
    const finished = await copy(lab.folder, "s", "--from", "a.db", "--to", lab.store);
    expect(finished).toMatchObject({ code: 6, stdout: "" });
    expect(finished.stderr).toContain("in use by process");
  });

  test("that is no store is refused and left as it is", async () => {
    await using folder = await holding({ s: ODD });
    await Bun.write(folder.at("notes.txt"), "Remember the milk.\n".repeat(20));
    const before = await folderState(folder.path);
    expect(await copy(folder, "s", "--from", "a.db", "--to", "notes.txt")).toMatchObject({
      code: 7,
      stdout: "",
    });
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("cannot be the source, under whatever name", async () => {
    await using folder = await holding({ s: ODD });
    await symlink("a.db", folder.at("link"));
    const before = await folderState(folder.path);
    for (const to of ["a.db", "sqlite:./a.db", "link"]) {
      const finished = await copy(folder, "s", "--from", "a.db", "--to", to);
      expect(finished).toMatchObject({ code: 2, stderr: expect.stringContaining("the same store") });
    }
    expect(await folderState(folder.path)).toEqual(before);
  });
});

describe("a mistake of usage makes nothing:", () => {
  test.each([
    ["neither sessions nor --all", ["--from", "a.db", "--to", "b.db"]],
    ["both", ["s", "--all", "--from", "a.db", "--to", "b.db"]],
    ["no source", ["--all", "--to", "b.db"]],
    ["no target", ["--all", "--from", "a.db"]],
    ["a kind of store that there is not", ["--all", "--from", "a.db", "--to", "s3:bucket"]],
  ])("%s", async (_, args) => {
    await using folder = await holding({ s: ODD });
    const before = await folderState(folder.path);
    expect(await copy(folder, ...args)).toMatchObject({ code: 2, stdout: "" });
    expect(await folderState(folder.path)).toEqual(before);
  });
});

test("a source that is not there is not found, and no target is made", async () => {
  await using folder = await TempFolder.create();
  const finished = await copy(folder, "--all", "--from", "a.db", "--to", "b.db");
  expect(finished).toMatchObject({ code: 3, stdout: "" });
  expect(await folderState(folder.path)).toEqual([]);
});

test("an empty source is copied in no time, and that is said", async () => {
  await using folder = await holding({});
  const finished = await copy(folder, "--all", "--from", "a.db", "--to", "b.db");
  expect(finished).toMatchObject({ code: 0, stdout: "", stderr: "There is no session in sqlite:a.db\n" });
});
