import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { acquireWriterLock, probeWriterLock } from "../../src/store/writer-lock.ts";
import { title } from "../contract/support.ts";
import { Contender } from "../fixtures/contender.ts";
import { Place, put } from "./sqlite/place.ts";

describe("looking at a lock", () => {
  test("tells who holds it, and that it is free the moment the holder is killed, whoever the owner file names", async () => {
    using place = new Place();
    expect(probeWriterLock(place.path)).toEqual({ state: "free" });
    await using holder = await Contender.start();
    await holder.open(place.path);
    expect(probeWriterLock(place.path)).toMatchObject({ state: "held", holder: { pid: holder.pid } });
    await holder.kill();
    const before = readdirSync(place.folder);
    expect(readFileSync(`${place.path}.owner`, "utf8")).toContain(String(holder.pid));
    expect(probeWriterLock(place.path)).toEqual({ state: "free" });
    // The pid was used again.
    writeFileSync(
      `${place.path}.owner`,
      JSON.stringify({ pid: process.ppid, startedAt: "1970-01-01T00:00:00Z" }),
    );
    expect(probeWriterLock(place.path)).toEqual({ state: "free" });
    expect(readdirSync(place.folder)).toEqual(before);
  });

  test("names nobody where the owner file does not, or names one that is gone", async () => {
    using place = new Place();
    await using holder = await Contender.start();
    await holder.open(place.path);
    const gone = Bun.spawnSync(["true"]).pid;
    for (const text of ["", "{", JSON.stringify({ pid: gone, startedAt: "x" })]) {
      writeFileSync(`${place.path}.owner`, text);
      expect(probeWriterLock(place.path)).toEqual({ state: "held" });
    }
  });

  test("makes no file where there is no lock, and none where there is no folder", () => {
    using place = new Place();
    expect(probeWriterLock(place.path)).toEqual({ state: "free" });
    expect(probeWriterLock(`${place.folder}/none/store.db`)).toEqual({ state: "free" });
    expect(readdirSync(place.folder)).toEqual([]);
  });

  test("costs the process that holds it nothing", async () => {
    using place = new Place();
    await using store = await place.open();
    await using second = await Contender.start();
    for (let round = 0; round < 3; round += 1) {
      expect(probeWriterLock(place.path)).toMatchObject({ state: "held", holder: { pid: process.pid } });
      expect((await second.open(place.path)).code).toBe("locked");
    }
    await put(store, "s", [title(0)]);
  });

  test("keeps nobody from taking it, however often one looks", async () => {
    using place = new Place();
    await using prober = await Contender.start();
    await using other = await Contender.start();
    expect((await prober.probeOn(place.path)).code).toBe("free");
    expect((await other.probeOn(place.path)).code).toBe("free");
    for (let round = 0; round < 200; round += 1) acquireWriterLock(place.path)[Symbol.dispose]();
  });

  test("somebody who holds it for reading delays a refusal by less than a tenth of a second", () => {
    using place = new Place();
    acquireWriterLock(place.path)[Symbol.dispose]();
    using reader = new Database(`${place.path}.lock`, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT * FROM sqlite_schema").all();
    const script = `
      import { acquireWriterLock } from "${import.meta.dir}/../../src/store/writer-lock.ts";
      const begin = performance.now();
      try { acquireWriterLock(${JSON.stringify(place.path)}); } catch (error) {
        console.log(JSON.stringify([error.code, performance.now() - begin]));
      }`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", script]);
    const [code, took]: unknown[] = JSON.parse(stdout.toString());
    expect(code).toBe("locked");
    expect(took).toBeLessThan(100);
  });

  test.skipIf(process.platform === "win32").each([
    ["a pipe", (path: string) => Bun.spawnSync(["mkfifo", path])],
    ["a folder", (path: string) => mkdirSync(path)],
    ["a link", (path: string) => symlinkSync("elsewhere", path)],
    ["no database", (path: string) => writeFileSync(path, "Remember the milk.\n".repeat(200))],
  ])("says of %s in its place that nobody could take it", (_, make) => {
    using place = new Place();
    make(`${place.path}.lock`);
    expect(probeWriterLock(place.path).state).toBe("unknown");
    expect(() => acquireWriterLock(place.path)).toThrow();
    expect(readdirSync(place.folder)).toEqual(["store.db.lock"]);
  });
});
