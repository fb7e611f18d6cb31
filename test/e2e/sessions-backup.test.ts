import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, readdir, rm, stat, truncate, watch } from "node:fs/promises";
import { z } from "zod";
import { deltas } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { cleanEnvironment, executablePath, type Finished, runHoldfast } from "../fixtures/executable.ts";
import { sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const RECORDS = recordsOfDrafts([turnStart(1), userMessage("Go on."), ...deltas(20)]);
const LOG = ["logs", "--srv-x--", "a", "session.jsonl.zstd"] as const;

function backup(folder: TempFolder, ...args: readonly string[]): Promise<Finished> {
  return sessions(folder, "backup", ...args);
}

const reportSchema = z.strictObject({
  from: z.string(),
  to: z.string(),
  sessions: z.number(),
  events: z.number(),
  faults: z.array(z.looseObject({ id: z.string(), state: z.string(), code: z.string() })),
});

function reportOf({ stdout }: Finished): z.infer<typeof reportSchema> {
  return reportSchema.parse(JSON.parse(stdout));
}

async function eventsOf(store: string, id: string): Promise<string> {
  return (await runHoldfast(["sessions", "show", id, store, "--events"])).stdout;
}

/** A folder with the sessions `a` and `b` in a database `a.db`, or in the logs `logs`. */
async function holding(kind: "a.db" | "logs"): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await withStore(`${kind === "logs" ? "jsonl" : "sqlite"}:${folder.at(kind)}`, async (store) => {
    for (const id of ["a", "b"]) await plant(store, id, RECORDS, { future: [1] });
  });
  return folder;
}

function isDraft(file: string): boolean {
  return file.includes(".holdfast-draft-");
}

/** Runs a command on a folder, and ends it as soon as a draft lies there. Returns its exit code. */
async function stopAtDraft(
  folder: TempFolder,
  signal: NodeJS.Signals,
  ...args: readonly string[]
): Promise<number> {
  const stop = new AbortController();
  const changes = watch(folder.path, { signal: stop.signal });
  const child = Bun.spawn([executablePath(), "sessions", ...args], {
    cwd: folder.path,
    env: cleanEnvironment(),
    stdio: ["ignore", "ignore", "ignore"],
    onExit: () => stop.abort(),
  });
  try {
    for await (const { filename } of changes) {
      if (!isDraft(filename ?? "")) continue;
      child.kill(signal);
      break;
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return await child.exited;
}

async function permissions(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe.each([...DURABLE_STORES])("a backup of a store (%s) that a Host writes meanwhile", (kind) => {
  test("holds every event that was acknowledged before, and is a store by itself", async () => {
    const replies = Array.from({ length: 12 }, (_, k) => textReply(`answer ${k}`));
    await using lab = await HostLab.on(kind, ...replies);
    const host = await lab.start();
    await host.client.invoke("first");
    const { nextSeq } = await host.client.read();
    const writing = (async () => {
      for (let k = 1; k < replies.length; k += 1) await host.client.invoke(`input ${k}`);
    })();
    const target = lab.folder.at("copy", kind === "sqlite" ? "agent.db" : "sessions");
    const report = reportOf(await backup(lab.folder, lab.store, "--to", target, "--json"));
    await writing;
    expect(report).toMatchObject({ sessions: 1, faults: [] });
    expect(report.events).toBeGreaterThanOrEqual(nextSeq);
    const events = await eventsOf(target, "default");
    expect(events.split("\n")).toHaveLength(report.events + 1);
    expect(await eventsOf(lab.store, "default")).toStartWith(events);
    expect(await runHoldfast(["sessions", "verify", target])).toMatchObject({ code: 0 });
    // A Host goes on with it.
    const flag = kind === "sqlite" ? "--session-db" : "--session-dir";
    const said = await runHoldfast(["invoke", flag, target, "say hello"]);
    expect(said).toMatchObject({ code: 0, stdout: "hello\n" });
  });
});

describe.each(["a.db", "logs"] as const)("a backup of %s", (name) => {
  test("is for its user alone, leaves nothing beside it, and changes nothing in the store", async () => {
    await using folder = await holding(name);
    const before = await folderState(folder.path);
    const finished = await backup(folder, name, "--to", "new/copy");
    expect(finished).toMatchObject({ code: 0, stderr: "" });
    expect(finished.stdout).toMatch(
      /^backed up (sqlite:a\.db|jsonl:logs) to \w+:new\/copy: 2 sessions, 44 events, compared with the store\n$/,
    );
    const after = await folderState(folder.path);
    expect(after.filter((line) => !line.startsWith("new"))).toEqual(before);
    const made = (await folderState(folder.at("new"))).map((line) => line.split(" ")[0] ?? "");
    expect(made.filter((path) => path.includes("draft") || /-(wal|shm|journal)$/.test(path))).toEqual([]);
    for (const path of made) {
      expect(await permissions(folder.at("new", path))).toBe(
        path.endsWith("/") || made.includes(`${path}/`) ? 0o700 : 0o600,
      );
    }
    const lists = await Promise.all(
      [name, "new/copy"].map((store) =>
        runHoldfast(["sessions", "list", store, "--check", "--json"], { cwd: folder.path }),
      ),
    );
    const [original, copied] = lists.map(({ stdout }) => stdout.replaceAll(/"location":"[^"]*",?/g, ""));
    expect(copied).toBe(original ?? "");
  });

  test("that is killed leaves nothing under its name, and the store as it was", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at(name);
    await withStore(`${name === "logs" ? "jsonl" : "sqlite"}:${store}`, async (opened) => {
      await Promise.all(Array.from({ length: 60 }, (_, k) => plant(opened, `s${k}`, RECORDS)));
    });
    const before = await folderState(folder.path);
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const code = await stopAtDraft(folder, signal, "backup", name, "--to", "copy");
      // A small database may be copied before anybody can stop it.
      if (code === 0) await rm(folder.at("copy"), { recursive: true });
      const drafts = (await readdir(folder.path)).filter(isDraft);
      if (signal === "SIGTERM") expect(drafts).toEqual([]);
      for (const draft of drafts) await rm(folder.at(draft), { recursive: true });
    }
    expect(await folderState(folder.path)).toEqual(before);
  });
});

describe("what is not whole:", () => {
  test("a batch that was never fully written stays out, and stays in the store", async () => {
    await using folder = await holding("logs");
    const log = folder.at(...LOG);
    await truncate(log, Bun.file(log).size - 5);
    const before = await folderState(folder.at("logs"));
    const report = reportOf(await backup(folder, "logs", "--to", "copy", "--json"));
    expect(report).toMatchObject({ sessions: 2, faults: [] });
    expect(await folderState(folder.at("logs"))).toEqual(before);
    const [original, copied] = await Promise.all(
      ["logs", "copy"].map((store) => runHoldfast(["sessions", "verify", folder.at(store), "--json"])),
    );
    expect(original?.stdout).toContain('"torn-tail"');
    expect(copied?.stdout).not.toContain('"torn-tail"');
  });

  test("a damaged session is in the backup as it is in the store, and gives its exit code", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    damage(folder.at("a.db"), (database) =>
      rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }),
    );
    const finished = await backup(folder, "a.db", "--to", "b.db", "--json");
    expect(finished.code).toBe(5);
    expect(reportOf(finished).faults).toMatchObject([{ id: "default", state: "damaged", code: "corrupt" }]);
    expect(await eventsOf(folder.at("b.db"), "default")).toBe(await eventsOf(folder.at("a.db"), "default"));
  });

  test("a database of which the pages cannot be read gets no backup, and is named", async () => {
    await using folder = await holding("a.db");
    const file = folder.at("a.db");
    const bytes = await Bun.file(file).bytes();
    await Bun.write(file, bytes.fill(0xa5, 4096, 8192));
    const before = await folderState(folder.path);
    const finished = await backup(folder, "a.db", "--to", "b.db");
    expect(finished).toMatchObject({
      code: 5,
      stdout: "",
      stderr: expect.stringContaining(`file ${file}\n`),
    });
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.skipIf(process.getuid?.() === 0)("a log that this user may not read is named as missing", async () => {
    await using folder = await holding("logs");
    await chmod(folder.at(...LOG), 0);
    const finished = await backup(folder, "logs", "--to", "copy", "--json");
    expect(finished.code).toBe(1);
    expect(reportOf(finished)).toMatchObject({ sessions: 1, faults: [{ id: "a", state: "missing" }] });
  });
});

describe("a mistake of usage makes nothing:", () => {
  test.each([
    ["no target", ["logs"], 2],
    ["a target without a name", ["logs", "--to", ""], 2],
    ["a target inside of the store", ["logs", "--to", "logs/copy"], 2],
    ["a target of another kind than the store", ["logs", "--to", "sqlite:copy"], 2],
    ["a target for session logs that is named like a database", ["logs", "--to", "new/logs.db"], 2],
    ["a store that is not there", ["nothing", "--to", "new/copy"], 3],
  ])("%s", async (_, args, code) => {
    await using folder = await holding("logs");
    const before = await folderState(folder.path);
    expect(await backup(folder, ...args)).toMatchObject({ code, stdout: "" });
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("a log of another database beside the target", async () => {
    await using folder = await holding("a.db");
    await Bun.write(folder.at("copy.db-wal"), "somebody's");
    const finished = await backup(folder, "a.db", "--to", "copy.db");
    expect(finished).toMatchObject({ code: 4, stderr: expect.stringContaining("copy.db-wal") });
    expect(await Bun.file(folder.at("copy.db")).exists()).toBe(false);
  });
});
