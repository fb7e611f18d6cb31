import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, link } from "node:fs/promises";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { cleanEnvironment, executablePath, type Finished, runHoldfast } from "../fixtures/executable.ts";
import { linesOf, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { poll } from "../fixtures/poll.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { BATCHES } from "../store/jsonl/damage-kinds.ts";
import { buildLog } from "../store/jsonl/log-bytes.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

function salvage(folder: TempFolder, ...args: readonly string[]): Promise<Finished> {
  return sessions(folder, "salvage", ...args);
}

/** A folder with a log `broken` of which the second batch is gone. */
async function withBrokenLog(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  const { bytes, offsets } = buildLog("s", "zstd", BATCHES);
  await Bun.write(
    folder.at("broken"),
    Buffer.concat([bytes.subarray(0, offsets[1]), bytes.subarray(offsets[2])]),
  );
  return folder;
}

/** A folder with a database `a.db`: `default` has a row of another checksum, `other` is sound. */
async function withBrokenStore(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await makeStore(folder.at("a.db"));
  await withStore(`sqlite:${folder.at("a.db")}`, (store) =>
    plant(store, "other", recordsOfDrafts([turnStart(1), turnEnd(1)])),
  );
  damage(folder.at("a.db"), (database) =>
    rewriteBody(database, SEQ.run, "milk", "wine", { fixChecksum: false }),
  );
  return folder;
}

describe("sessions salvage", () => {
  test.each(["sqlite:new.db", "jsonl:new"])(
    "takes what a log still holds into a session of %s that verifies and can be shown",
    async (to) => {
      await using folder = await withBrokenLog();
      const args = ["--from", "broken", "--to", to];
      const finished = await salvage(folder, ...args);
      expect(finished).toMatchObject({ code: 0, stderr: "" });
      expect(finished.stdout).toMatch(
        /^salvaged s as s-salvaged: \d+ events, 6 of them taken over, 2 missing, sha256 [0-9a-f]{12}…\n1 salvaged\n$/,
      );
      const shown = await runHoldfast(["sessions", "show", "s-salvaged", to], { cwd: folder.path });
      expect(shown).toMatchObject({ code: 0, stderr: "" });
      expect(shown.stdout).toContain("first");
      expect(shown.stdout).toContain("second");
      const [, kind, path = ""] = /^(\w+):(.*)$/.exec(to) ?? [];
      const flag = kind === "sqlite" ? "--session-db" : "--session-dir";
      const verified = await runHoldfast(["sessions", "verify", flag, path], { cwd: folder.path });
      expect(verified).toMatchObject({ code: 0 });
      expect(await salvage(folder, ...args)).toMatchObject({
        code: 0,
        stdout: finished.stdout
          .replace("salvaged s as", "already there s, as")
          .replace("1 salvaged\n", "0 salvaged, 1 already there\n"),
      });
    },
  );

  test("of a database takes the damaged sessions, those that are named, or all", async () => {
    await using folder = await withBrokenStore();
    const before = await folderState(folder.path);
    const from = ["--from", "a.db", "--to"];
    const damaged = await salvage(folder, ...from, "b.db", "--json");
    expect(damaged).toMatchObject({ code: 0, stderr: "" });
    expect(linesOf(damaged)).toMatchObject([
      {
        id: "default",
        state: "salvaged",
        newId: "default-salvaged",
        events: 8,
        written: 8,
        taken: 6,
        aside: 0,
        repeated: 0,
        missing: 5,
        damaged: 1,
        added: 0,
      },
      { id: "other", state: "sound", events: 2 },
    ]);
    const all = linesOf(await salvage(folder, ...from, "c.db", "--all", "--json"));
    expect(all.map(({ id, state }) => [id, state])).toEqual([
      ["default", "salvaged"],
      ["other", "salvaged"],
    ]);
    const named = await salvage(folder, "other", "gone", ...from, "d.db", "--json");
    expect(named.code).toBe(3);
    expect(linesOf(named)).toMatchObject([
      { id: "gone", state: "failed", code: "not-found" },
      { id: "other", state: "salvaged", missing: 0 },
    ]);
    const after = await folderState(folder.path);
    expect(after.filter((line) => line.startsWith("a.db"))).toEqual(before);
  });

  test("says so where nothing is damaged, or nothing is left, and makes no store", async () => {
    await using folder = await TempFolder.create();
    await withStore(`sqlite:${folder.at("a.db")}`, (store) =>
      plant(store, "s", recordsOfDrafts([turnStart(1)])),
    );
    await Bun.write(folder.at("noise"), "What is this?\n".repeat(9));
    expect(await salvage(folder, "--from", "a.db", "--to", "b.db")).toEqual({
      code: 0,
      stdout: "sound s: 1 event, and nothing to salvage\n0 salvaged, 1 sound\n",
      stderr: "",
    });
    const nothing = await salvage(folder, "--from", "noise", "--to", "b.db");
    expect(nothing).toMatchObject({ code: 5, stderr: "" });
    expect(nothing.stdout).toStartWith("nothing left noise: ");
    expect(existsSync(folder.at("b.db"))).toBe(false);
  });

  test("names the way out where the id that it makes is too long for session logs", async () => {
    await using folder = await TempFolder.create();
    const id = "s".repeat(250);
    await withStore(`sqlite:${folder.at("a.db")}`, (store) =>
      plant(store, id, recordsOfDrafts([turnStart(1)])),
    );
    const args = ["--all", "--from", "a.db", "--to", "jsonl:logs"];
    const long = await salvage(folder, ...args);
    expect(long.code).toBe(1);
    expect(long.stdout).toContain("too long for a folder's name: give it another one with --id");
    expect(await salvage(folder, id, ...args.slice(1), "--id", "short")).toMatchObject({ code: 0 });
  });

  test("says what a packed file is", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(folder.at("log.gz"), Bun.gzipSync("x"));
    const packed = await salvage(folder, "--from", "log.gz", "--to", "new.db");
    expect(packed).toMatchObject({ code: 7, stdout: "" });
    expect(packed.stderr).toContain("The file is gzip data");
  });

  test("gives the new session the id that is asked for", async () => {
    await using folder = await withBrokenLog();
    const finished = await salvage(folder, "--from", "broken", "--to", "new.db", "--id", "mine", "--json");
    expect(linesOf(finished)).toMatchObject([{ id: "s", newId: "mine" }]);
    // Another log: what is there is not its salvage.
    await Bun.write(folder.at("whole"), buildLog("s", "none", BATCHES).bytes);
    expect(await salvage(folder, "--from", "whole", "--to", "new.db", "--id", "mine")).toMatchObject({
      code: 4,
    });
  });

  test("takes what is left in a root into the same root", async () => {
    await using folder = await TempFolder.create();
    const { bytes, offsets } = buildLog("s", "none", BATCHES);
    const log = folder.at("logs", "--p--", "s", "session.jsonl");
    await Bun.write(log, Buffer.concat([bytes.subarray(0, offsets[1]), bytes.subarray(offsets[2])]));
    const finished = await salvage(folder, "--from", "logs", "--to", "jsonl:logs", "--json");
    expect(finished).toMatchObject({ code: 0 });
    const listed = await runHoldfast(["sessions", "list", "logs"], { cwd: folder.path });
    expect(listed.stdout).toContain("s-salvaged");
    expect(await Bun.file(log).bytes()).toHaveLength(bytes.length - ((offsets[2] ?? 0) - (offsets[1] ?? 0)));
    expect(await Bun.file(folder.at("logs", "--p--", "s-salvaged", "session.jsonl")).exists()).toBe(true);
  });
});

describe("a salvage is refused", () => {
  test("into the database that is read, under whatever name", async () => {
    await using folder = await withBrokenStore();
    await link(folder.at("a.db"), folder.at("same.db"));
    const before = await folderState(folder.path);
    for (const to of ["a.db", "sqlite:./a.db", "same.db"]) {
      const finished = await salvage(folder, "--from", "a.db", "--to", to);
      expect(finished).toMatchObject({ code: 2, stderr: expect.stringContaining("the same database") });
    }
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("into a store that a Host holds", async () => {
    await using lab = await HostLab.create(textReply("one"));
    await lab.start();
    await Bun.write(lab.folder.at("log"), buildLog("s", "none", BATCHES).bytes);
    const finished = await salvage(lab.folder, "--from", "log", "--to", lab.store);
    expect(finished).toMatchObject({ code: 6, stdout: "" });
    expect(finished.stderr).toContain("The store is in use by process");
  });

  test.each([
    ["without a target", 2, ["--from", "broken"]],
    ["without a source", 2, ["--to", "new.db"]],
    ["of single sessions and all", 2, ["s", "--all", "--from", "broken", "--to", "new.db"]],
    ["of several sessions into one", 2, ["--from", "a.db", "--to", "new.db", "--id", "x"]],
    ["of what is not there", 3, ["--from", "nowhere", "--to", "new.db"]],
    ["of a session that is not there", 3, ["x", "--from", "broken", "--to", "new.db"]],
  ])("%s: exit %i, and nothing is made", async (_, code, args) => {
    await using folder = await withBrokenLog();
    await withStore(`sqlite:${folder.at("a.db")}`, (store) =>
      plant(store, "s", recordsOfDrafts([turnStart(1)])),
    );
    const before = await folderState(folder.path);
    expect(await salvage(folder, ...args)).toMatchObject({ code });
    expect(await folderState(folder.path)).toEqual(before);
  });
});

describe("a salvage that is stopped in the middle of a long log", () => {
  const BIG = Array.from({ length: 600 }, (_, k) => [
    turnStart(k + 1),
    userMessage(`${k} `.repeat(2_000)),
    turnEnd(k + 1),
  ]).flat();

  test.each([
    ["SIGINT", 130],
    ["SIGKILL", undefined],
  ] as const)("by %s is completed by the same command, and leaves its source alone", async (signal, code) => {
    await using folder = await TempFolder.create();
    await withStore(`sqlite:${folder.at("a.db")}`, (store) => plant(store, "s", recordsOfDrafts(BIG)));
    await chmod(folder.at("a.db"), 0o400);
    const before = await folderState(folder.path);
    const args = ["sessions", "salvage", "s", "--from", "a.db", "--to", "jsonl:logs"];
    const child = Bun.spawn([executablePath(), ...args], {
      cwd: folder.path,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = folder.at("logs", "--srv-x--", "s-salvaged", "session.jsonl.zstd");
    await poll("the first batch", async () => (existsSync(log) ? true : undefined));
    child.kill(signal);
    const stderr = await child.stderr.text();
    await child.exited;
    if (code === undefined) expect(child.signalCode).toBe("SIGKILL");
    else {
      expect(child.exitCode).toBe(code);
      expect(stderr).toContain("the same command goes on from here");
    }
    const again = await runHoldfast([...args, "--json"], { cwd: folder.path });
    expect(again.code).toBe(0);
    const [report] = linesOf(again);
    expect(report).toMatchObject({
      state: "salvaged",
      newId: "s-salvaged",
      events: BIG.length + 1,
      missing: 0,
    });
    expect(Number(report?.["written"])).toBeLessThan(BIG.length);
    const after = await folderState(folder.path);
    expect(after.filter((line) => line.startsWith("a.db"))).toEqual(before);
  });
});
