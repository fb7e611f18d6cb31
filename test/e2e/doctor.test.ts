import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, copyFile, lstat, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { makeStore } from "../fixtures/damaged-store.ts";
import {
  type CommandOptions,
  cleanEnvironment,
  executablePath,
  type Finished,
  runCommand,
  runHoldfast,
} from "../fixtures/executable.ts";
import { faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab, STORES } from "../fixtures/host-lab.ts";
import { poll } from "../fixtures/poll.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TinyDisk } from "../fixtures/tiny-disk.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const reportSchema = z.object({
  version: z.string(),
  sqlite: z.string().regex(/^\d+\.\d+\.\d+$/),
  store: z.object({ kind: z.string(), path: z.string(), state: z.string() }).optional(),
  lock: z.object({ state: z.string(), holder: z.object({ pid: z.number() }).optional() }).optional(),
  durability: z.object({ tried: z.boolean() }).optional(),
  fileSystem: z.object({ folder: z.string(), freeBytes: z.number() }).optional(),
  sync: z.object({ count: z.number(), p50: z.number(), max: z.number() }).optional(),
  findings: z.array(
    z.object({
      level: z.enum(["problem", "warning", "note", "ok"]),
      code: z.string(),
      what: z.string(),
      hint: z.string().optional(),
    }),
  ),
});

function doctor(args: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  return runHoldfast(["doctor", ...args], options);
}

/** The report of `--json`, with the exit code. */
async function examined(args: readonly string[], options: CommandOptions = {}) {
  const { code, stdout, stderr } = await doctor([...args, "--json"], options);
  expect(stderr).toBe("");
  const report = reportSchema.parse(JSON.parse(stdout));
  expect(stdout.split("\n")).toHaveLength(2);
  return { code, ...report, codes: report.findings.map((finding) => finding.code) };
}

/** Times and modes of all that lies in a folder. */
async function timesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const { mtimeMs, mode, size } = await lstat(join(folder, name));
      return [name, mtimeMs, mode, size].join(" ");
    }),
  );
}

describe("doctor", () => {
  test.each(STORES)(
    "tells of a store in use and after its Host was killed, and changes nothing: %s",
    async (kind) => {
      await using lab = await HostLab.on(kind, textReply("one"), textReply("two"));
      const host = await lab.start();
      await host.client.invoke("hello");
      const folder = join(lab.store, "..");
      const held = await examined([lab.store]);
      expect(held).toMatchObject({
        code: 0,
        version: packageJson.version,
        store: { kind: kind === "sqlite" ? "sqlite" : "jsonl", path: lab.store, state: "store" },
        lock: { state: "held", holder: { pid: host.pid } },
        durability: { tried: true },
      });
      expect(held.sync?.count).toBeGreaterThan(0);
      expect(held.codes).toContain("in-use");
      // The Host goes on.
      expect((await host.client.invoke("again")).body).toMatchObject({ turn: 2 });
      await host.stop("SIGKILL");

      const [state, times] = [await folderState(folder), await timesIn(folder)];
      const quiet = await examined([lab.store, "--no-write"]);
      expect(quiet).toMatchObject({ code: 0, lock: { state: "free" }, durability: { tried: false } });
      expect(quiet.sync).toBeUndefined();
      expect(await timesIn(folder)).toEqual(times);
      const killed = await examined([lab.store]);
      expect(killed.codes.includes("wal-left")).toBe(kind === "sqlite");
      // The measure shows in the time of the folder that it was made in alone.
      const expected = times.filter((line) => kind === "sqlite" || !line.startsWith("sessions "));
      expect(await timesIn(folder)).toEqual(expect.arrayContaining(expected));
      expect(await folderState(folder)).toEqual(state);
    },
  );

  test("is read by people: facts, then what was found and what to do", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("a.db"));
    await chmod(folder.at("a.db"), 0o644);
    const { code, stdout, stderr } = await doctor([folder.at("a.db")]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Holdfast {5}\d/);
    expect(stdout).toMatch(/^File system {2}\S+/m);
    expect(stdout).toMatch(/^Sync {9}\d[\d.]* (ms|µs) \(median of \d+\), longest /m);
    expect(stdout).toMatch(
      /^warning {2}readable-by-others: [^\n]+\n {9}where: [^\n]+a\.db\n {9}hint: [^\n]+\n/m,
    );
    expect(stdout).toEndWith(
      `\n\nThe contents were not checked. That is done by: holdfast sessions verify --session-db ${folder.at("a.db")}\n`,
    );
  });

  test("shows no control character of a path as it is", async () => {
    await using folder = await TempFolder.create();
    const { stdout } = await doctor([`${folder.path}/a\u001b[31m\nb.db`]);
    expect(stdout).toContain("/a\\u001b[31m\\u000ab.db");
    expect(stdout).not.toContain("\u001b");
  });

  test("without a store tells its versions, and how to name one", async () => {
    await using folder = await TempFolder.create();
    const report = await examined([], { cwd: folder.path });
    expect(report).toMatchObject({ code: 0, codes: ["no-store-named"] });
    expect(report.store).toBeUndefined();
    expect((await doctor([])).stdout).toContain("--session-db PATH");
    expect(await folderState(folder.path)).toEqual([]);
  });

  test("of a store that is not there looks at where it would be made, and makes nothing", async () => {
    await using folder = await TempFolder.create();
    for (const name of ["deep/er/a.db", "logs"]) {
      const report = await examined([name], { cwd: folder.path });
      expect(report).toMatchObject({
        code: 0,
        store: { state: "absent" },
        fileSystem: { folder: folder.path },
      });
      expect(report.codes).toContain("no-store");
      expect(report.sync?.count).toBeGreaterThan(0);
    }
    expect(await folderState(folder.path)).toEqual([]);
  });

  test.each([
    ["a text", 7, "unsupported-format", (path: string) => writeFile(path, "Remember the milk.\n".repeat(20))],
    [
      "garbage behind its header",
      5,
      "corrupt",
      async (path: string) => {
        await makeStore(path);
        const bytes = await Bun.file(path).bytes();
        await writeFile(path, bytes.fill(0xaa, 100));
      },
    ],
    ["a folder", 1, "storage-failed", (path: string) => mkdir(path)],
  ])("says what %s is, exits with %d, and leaves it as it is", async (_, exit, code, make) => {
    await using folder = await TempFolder.create();
    await make(folder.at("a.db"));
    const before = await timesIn(folder.path);
    const report = await examined([`sqlite:${folder.at("a.db")}`]);
    expect(report).toMatchObject({ code: exit, store: { state: "refused" } });
    expect(report.findings[0]).toMatchObject({ level: "problem", code, hint: expect.any(String) });
    expect(await timesIn(folder.path)).toEqual(before);
  });

  test("takes the store from an argument, a flag or a variable; two are a mistake", async () => {
    await using folder = await TempFolder.create();
    const options = { cwd: folder.path, env: { HOLDFAST_SESSION_DB: "a.db" } };
    for (const [args, path] of [
      [[], "a.db"],
      [["--session-dir", "logs"], "logs"],
      [["b.db"], "b.db"],
    ] as const) {
      const { store } = await examined([...args, "--no-write"], options);
      expect(store?.path).toBe(folder.at(path));
    }
    const two = await doctor(["--session-db", "a.db", "b.db"], { cwd: folder.path });
    expect(two).toMatchObject({ code: 2, stdout: "" });
  });

  test.skipIf(process.platform === "win32")("may be left by its reader: that is no error", async () => {
    const script = '{ "$0" doctor; echo "code $?" >&2; } | true';
    expect((await runCommand(["sh", "-c", script, executablePath()])).stderr).toBe("code 0\n");
  });
});

describe.skipIf(SHIM === undefined)("a measure that is interrupted", () => {
  /** A doctor whose syncs are slow, at the second of them. */
  async function midway(folder: TempFolder) {
    const tally = folder.at("tally");
    await mkdir(folder.at("data"));
    const fault = { below: folder.at("data"), on: "sync", at: 1, times: 20, action: { slowMs: 50 } } as const;
    const child = Bun.spawn([executablePath(), "doctor", folder.at("data", "a.db")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: cleanEnvironment(faultEnvironment(fault, tally)),
    });
    await poll("a sync", async () => ((await Bun.file(tally).exists()) ? true : undefined));
    return child;
  }

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("by %s leaves nothing, and prints nothing", async (signal, code) => {
    await using folder = await TempFolder.create();
    await using child = await midway(folder);
    child.kill(signal);
    expect(await child.exited).toBe(code);
    expect(await child.stdout.text()).toBe("");
    expect(await folderState(folder.at("data"))).toEqual([]);
  });

  test("by kill -9 is told of by the next one", async () => {
    await using folder = await TempFolder.create();
    await using child = await midway(folder);
    child.kill("SIGKILL");
    await child.exited;
    const [left = ""] = await readdir(folder.at("data"));
    const report = await examined([folder.at("data", "a.db")]);
    expect(report.codes).toContain("probe-left");
    expect(await readdir(folder.at("data"))).toEqual([left]);
  });
});

const isRoot = process.getuid?.() === 0;

describe.skipIf(process.platform === "win32" || (isRoot && Bun.which("setpriv") === null))(
  "without the permission",
  () => {
    /** The executable, as a user who owns nothing. */
    async function asOther(folder: TempFolder): Promise<readonly string[]> {
      await chmod(folder.path, 0o755);
      await copyFile(executablePath(), folder.at("holdfast"));
      const other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
      return isRoot ? [...other, folder.at("holdfast")] : [folder.at("holdfast")];
    }

    test("to write in the folder says so, measures nothing, and exits with 1", async () => {
      await using folder = await TempFolder.create();
      const holdfast = await asOther(folder);
      await mkdir(folder.at("data"));
      await chmod(folder.at("data"), 0o555);
      const { code, stdout } = await runCommand([...holdfast, "doctor", folder.at("data", "a.db"), "--json"]);
      const report = reportSchema.parse(JSON.parse(stdout));
      expect(code).toBe(1);
      expect(report.findings[0]).toMatchObject({ level: "problem", code: "not-writable" });
      expect(report.sync).toBeUndefined();
    });

    test("to look into folders of a root counts them", async () => {
      await using folder = await TempFolder.create();
      const holdfast = await asOther(folder);
      await mkdir(folder.at("logs", "closed"), { recursive: true });
      await chmod(folder.at("logs", "closed"), 0o000);
      const { stdout } = await runCommand([...holdfast, "doctor", folder.at("logs"), "--no-write", "--json"]);
      const { findings } = reportSchema.parse(JSON.parse(stdout));
      expect(findings).toContainEqual(expect.objectContaining({ level: "warning", code: "closed-folders" }));
      await chmod(folder.at("logs", "closed"), 0o700);
    });
  },
);

describe.skipIf(!TinyDisk.isAllowed)("a small disk (skipped where nothing can be mounted)", () => {
  test("that is full is a problem; one in memory is a warning", async () => {
    using disk = TinyDisk.mount(8);
    if (disk === undefined) throw new Error("it was allowed before");
    const name = join(disk.folder, "a.db");
    const roomy = await examined([name]);
    expect(roomy).toMatchObject({ code: 0, durability: { tried: true } });
    expect(roomy.codes).toEqual(["memory-file-system", "space-low", "no-store"]);
    disk.fill();
    const full = await examined([name]);
    expect(full).toMatchObject({ code: 1, codes: expect.arrayContaining(["storage-full"]) });
    expect(await readdir(disk.folder)).not.toContainEqual(expect.stringContaining("holdfast"));
  });

  test("that is mounted read-only is reported, and read", async () => {
    using disk = TinyDisk.mount(8);
    if (disk === undefined) throw new Error("it was allowed before");
    const name = join(disk.folder, "a.db");
    await makeStore(name);
    expect(Bun.spawnSync(["mount", "-o", "remount,ro", disk.folder]).success).toBeTrue();
    const report = await examined([name]);
    expect(report).toMatchObject({ code: 1, store: { state: "store" } });
    expect(report.codes.slice(0, 2)).toEqual(["not-writable", "memory-file-system"]);
  });
});
