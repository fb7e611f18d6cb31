import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { openStore } from "../../src/store/open-store.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import { acquireWriterLock } from "../../src/store/writer-lock.ts";
import { rejectionOf, title } from "../contract/support.ts";
import { Bundle } from "../fixtures/bundle.ts";
import { CONTENDER, Contender } from "../fixtures/contender.ts";
import { Place, put } from "./sqlite/place.ts";

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(CONTENDER);
});
afterAll(() => program[Symbol.asyncDispose]());

function startContender(cwd?: string): Promise<Contender> {
  return Contender.start(cwd, program.path);
}

describe("a store has one writer", () => {
  test("a second process is refused with the holder's pid and start, until the first closes", async () => {
    using place = new Place();
    await using first = await startContender();
    await using second = await startContender();
    const { code, holder } = await first.open(place.path);
    expect([code, holder?.pid]).toEqual(["ok", first.pid]);

    const refused = await second.open(place.path);
    expect(refused).toMatchObject({ code: "locked", holder: { pid: first.pid } });
    expect(refused.message).toContain(String(first.pid));
    const start = refused.holder?.startedAt ?? "unknown";
    expect(refused.message).toContain(start);
    expect(Math.abs(Date.parse(start) - Date.parse(holder?.startedAt ?? ""))).toBeLessThan(1_000);

    expect((await first.close()).code).toBe("closed");
    expect((await second.open(place.path)).code).toBe("ok");
  });

  test("a refusal disturbs neither the holder nor the store", async () => {
    using place = new Place();
    await using store = await place.open();
    await put(store, "s", [title(0)]);
    await using second = await startContender();
    for (let round = 0; round < 3; round += 1) {
      expect(await second.open(place.path)).toMatchObject({ code: "locked", holder: { pid: process.pid } });
      await put(store, `t${round}`, [title(0)]);
    }
    expect((await store.list()).items.length).toBe(4);
  });

  test("kill -9 frees the store at once, and its owner file does not count any more", async () => {
    using place = new Place();
    await using second = await startContender();
    for (let round = 0; round < 2; round += 1) {
      await using first = await startContender();
      expect((await first.open(place.path)).code).toBe("ok");
      expect((await second.open(place.path)).code).toBe("locked");
      await first.kill();
      expect(readFileSync(`${place.path}.owner`, "utf8")).toContain(String(first.pid));
      expect((await second.open(place.path)).code).toBe("ok");
      expect((await second.close()).code).toBe("closed");
    }
  });

  test("an owner file with the pid of a process that lives, but is another one, does not block", async () => {
    using place = new Place();
    const reused = JSON.stringify({ pid: process.ppid, startedAt: new Date(0).toISOString() });
    writeFileSync(`${place.path}.owner`, reused);
    writeFileSync(`${place.path}.lock`, "");
    await using second = await startContender();
    expect((await second.open(place.path)).code).toBe("ok");
  });

  test("an owner file that cannot be read is no reason to fail: locked by another process", async () => {
    using place = new Place();
    await using store = await place.open();
    await using second = await startContender();
    for (const text of ["", "{", "[]", '{"pid":"x"}']) {
      writeFileSync(`${place.path}.owner`, text);
      const answer = await second.open(place.path);
      expect(answer.code).toBe("locked");
      expect(answer.message).toContain("another process");
    }
    expect((await store.health()).writable).toBe(true);
  });

  test("every spelling of the path is the same store", async () => {
    using place = new Place();
    await using store = await place.open();
    await put(store, "s", [title(0)]);
    const { folder, path } = place;
    mkdirSync(join(folder, "sub"));
    symlinkSync(path, join(folder, "link.db"));
    symlinkSync("link.db", join(folder, "link-to-link.db"));
    symlinkSync(folder, join(folder, "sub", "folder"));
    const spellings = [
      path,
      `${folder}/./sub/..//store.db`,
      join(folder, "link.db"),
      join(folder, "link-to-link.db"),
      join(folder, "sub", "folder", "store.db"),
    ];
    await using inside = await startContender(folder);
    for (const spelling of [
      ...spellings,
      "store.db",
      "./sub/../store.db",
      `../${relative(dirname(folder), path)}`,
    ]) {
      expect([spelling, (await inside.open(spelling)).code]).toEqual([spelling, "locked"]);
    }
    for (const spelling of [...spellings, relative(process.cwd(), path)]) {
      expect(await rejectionOf(place.open(spelling))).toMatchObject({
        code: "locked",
        holder: { pid: process.pid },
      });
    }
  });

  test("two links to a store that does not exist yet are the same store", async () => {
    using place = new Place();
    for (const name of ["a.db", "b.db"]) symlinkSync("store.db", join(place.folder, name));
    await using store = await place.open(join(place.folder, "a.db"));
    await using second = await startContender();
    expect((await second.open(join(place.folder, "b.db"))).code).toBe("locked");
    expect((await second.open(place.path)).code).toBe("locked");
    expect((await store.health()).writable).toBe(true);
  });

  test("a second opening in the same process is refused, and costs the first nothing", async () => {
    using place = new Place();
    await using store = await place.open(place.path, "worker");
    expect(await rejectionOf(place.open())).toMatchObject({ code: "locked", holder: { pid: process.pid } });
    await using second = await startContender();
    expect((await second.open(place.path)).code).toBe("locked");
    await put(store, "s", [title(0)]);
  });

  test("garbage collection does not free the store, even if nobody keeps the lock", async () => {
    using place = new Place();
    await using second = await startContender();
    acquireWriterLock(place.path);
    for (let round = 0; round < 5; round += 1) Bun.gc(true);
    expect((await second.open(place.path)).code).toBe("locked");
  });

  test("a store that could not be opened leaves no lock", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    place.run("DROP VIEW session_events");
    expect(await rejectionOf(place.open())).toMatchObject({ code: "corrupt" });
    place.run("PRAGMA user_version = 9");
    expect(await rejectionOf(place.open())).toMatchObject({ code: "unsupported-format" });
    acquireWriterLock(place.path)[Symbol.dispose]();
  });
});

describe("eight processes at once", () => {
  type Kind = StoreName["kind"];

  /** They hold nothing between the tests. */
  let contenders: readonly Contender[] = [];
  beforeAll(async () => {
    contenders = await Promise.all(Array.from({ length: 8 }, () => startContender()));
  });
  afterAll(async () => {
    for (const contender of contenders) await contender[Symbol.asyncDispose]();
  });

  /** All open the path in the same moment; checks that one owns it, and closes it again. */
  async function race(path: string, kind: Kind = "sqlite"): Promise<void> {
    const answers = await Promise.all(contenders.map((contender) => contender.open(path, kind)));
    const codes = answers.map(({ code }) => code).toSorted();
    expect(codes).toEqual([...Array<string>(7).fill("locked"), "ok"]);
    const owner = contenders[answers.findIndex(({ code }) => code === "ok")];
    for (const { code, holder } of answers) {
      if (code === "locked" && holder !== undefined) expect(holder.pid).toBe(owner?.pid ?? -1);
    }
    await owner?.close();
  }

  test.each(["sqlite", "jsonl"] as const)(
    "on a fresh %s store, twenty times: one owns it, the others are told, nothing is damaged",
    async (kind) => {
      using place = new Place();
      for (let round = 0; round < 20; round += 1) {
        const path = join(place.folder, `${round}`, "store.db");
        await race(path, kind);
        const options = { clock: Date.now, chunkWindowMs: 0, thread: "process" } as const;
        await using store = await openStore({ kind, path }, options);
        await put(store, "s", [title(0)]);
        expect((await store.list()).items.length).toBe(1);
      }
    },
    30_000,
  );

  test("on a store that a crash left, again and again: what it held is there", async () => {
    using place = new Place();
    await place.fill({ s: [title(0)] });
    for (let round = 0; round < 5; round += 1) {
      await using crashing = await startContender();
      expect((await crashing.open(place.path)).code).toBe("ok");
      await crashing.kill();
      await race(place.path);
    }
    await using store = await place.open();
    expect((await store.inspect("s")).log.length).toBe(1);
  }, 30_000);
});
