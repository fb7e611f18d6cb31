import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FileSystem } from "../../../src/store/file-system.ts";
import { repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { outcomesOf, title } from "../../contract/support.ts";
import { Bundle } from "../../fixtures/bundle.ts";
import { faultEnvironment, SHIM } from "../../fixtures/fault-shim.ts";
import { Disk, FileNode } from "../../fixtures/power-cut/disk.ts";
import { lay } from "../../fixtures/power-cut/gather.ts";
import { Recorder } from "../../fixtures/power-cut/recorder.ts";
import { keyOf, type State, statesOf } from "../../fixtures/power-cut/states.ts";
import { TinyDisk } from "../../fixtures/tiny-disk.ts";
import { systemError, watchedDisk } from "../../fixtures/watched-disk.ts";
import { type Examination, errorsIn, examine, long, ordinaryContents, repair, spoilPage } from "./damaged.ts";
import { Place } from "./place.ts";

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(Bun.fileURLToPath(new URL("../../fixtures/repair-database.ts", import.meta.url)));
});
afterAll(() => program[Symbol.asyncDispose]());

const TIMEOUT = 60_000;

/** What is damaged, how, and which of the operations of its repair are tried: one in so many. */
const DAMAGES: ReadonlyArray<readonly [string, (place: Place) => void, number]> = [
  ["rows", (place) => place.run("UPDATE records SET body = 'x' WHERE seq = 30"), 1],
  ["pages", ({ path }) => spoilPage(path, 9, 0xa5), 3],
  [
    "pages, with a log that a killed process left",
    (place) => {
      const database = place.raw();
      database.run("PRAGMA wal_autocheckpoint = 0");
      database.run("UPDATE records SET body = 'x' WHERE seq = 30");
      const files = ["", "-wal"].map((suffix) => readFileSync(place.path + suffix));
      database.close();
      for (const [k, suffix] of ["", "-wal"].entries()) writeFileSync(place.path + suffix, files[k] ?? "");
      spoilPage(place.path, 14, 0xa5);
    },
    3,
  ],
];

/** Puts a store into place as it was before its repair. */
class Original implements Disposable {
  readonly #files: ReadonlyArray<readonly [string, Buffer]>;
  readonly place = new Place();
  /** What an examiner finds of it. */
  readonly found: Examination;

  private constructor(files: ReadonlyArray<readonly [string, Buffer]>, found: Examination) {
    this.#files = files;
    this.found = found;
    this.restore();
  }

  static async make(spoil: (place: Place) => void): Promise<Original> {
    using place = new Place();
    await place.fill({
      a: Array.from({ length: 300 }, (_, n) => title(n)),
      b: Array.from({ length: 40 }, (_, n) => long(n, n * 200)),
    });
    spoil(place);
    const names = readdirSync(place.folder).filter((name) => /\.db(-wal)?$/.test(name));
    const files = names.map((name) => [name, readFileSync(join(place.folder, name))] as const);
    using original = new Original(files, { findings: [], contents: {} });
    return new Original(files, await examine(original.place.path, true));
  }

  restore(): void {
    for (const name of readdirSync(this.place.folder)) rmSync(join(this.place.folder, name));
    for (const [name, bytes] of this.#files)
      writeFileSync(join(this.place.folder, name), bytes, { mode: 0o600 });
  }

  [Symbol.dispose](): void {
    this.place[Symbol.dispose]();
  }
}

async function repairOn(path: string, disk: FileSystem): Promise<void> {
  await using repairer = await repairSqlite(path, disk);
  for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
}

/** Names beside the database, but for those of the lock, which stay. */
function kept({ folder }: Place): string[] {
  return readdirSync(folder)
    .filter((name) => !/\.(lock|owner)$/.test(name))
    .toSorted();
}

describe.each(DAMAGES)("a repair of %s", (_, spoil, stride) => {
  /** Whatever is there gives all that the original gave, or is what the repair makes of it, in whole or up to a step. */
  async function expectWhole(
    original: Original,
    goal: Readonly<Record<string, readonly string[]>>,
  ): Promise<void> {
    const { contents } = await examine(original.place.path, true);
    for (const [id, texts] of Object.entries(original.found.contents)) {
      const now = contents[id] ?? [];
      const isWhole =
        JSON.stringify(now) === JSON.stringify(texts) || JSON.stringify(now) === JSON.stringify(goal[id]);
      expect({ id, isWhole }).toEqual({ id, isWhole: true });
    }
  }

  async function goalOf(original: Original) {
    await repair(original.place.path);
    return { contents: await ordinaryContents(original.place.path), files: kept(original.place) };
  }

  test(
    "that is killed at any operation leaves the original or the repaired store whole; the next one finishes it",
    async () => {
      using original = await Original.make(spoil);
      const { path } = original.place;
      const goal = await goalOf(original);
      for (let dies = 0; ; dies += stride) {
        original.restore();
        let done = 0;
        const disk = watchedDisk(() => {
          done += 1;
          if (done > dies) throw systemError("EIO");
        });
        const [outcome] = await outcomesOf([repairOn(path, disk)]);
        await expectWhole(original, goal.contents);
        await repair(path);
        expect({ dies, errors: await errorsIn(path) }).toEqual({ dies, errors: [] });
        expect(await ordinaryContents(path)).toEqual(goal.contents);
        if (outcome === "ok") break;
        expect(outcome).toBe("storage-failed");
        expect(dies).toBeLessThan(100);
      }
    },
    TIMEOUT,
  );

  test(
    "that fails at any operation leaves the original and nothing else, or has its files beside what it did",
    async () => {
      using original = await Original.make(spoil);
      const { path } = original.place;
      const goal = await goalOf(original);
      original.restore();
      const before = kept(original.place);
      for (let fails = 0; ; fails += stride) {
        original.restore();
        let done = 0;
        const disk = watchedDisk(() => {
          done += 1;
          if (done === fails + 1) throw systemError("ENOSPC");
        });
        const [outcome] = await outcomesOf([repairOn(path, disk)]);
        if (outcome === "ok") break;
        expect(outcome).toBe("storage-full");
        await expectWhole(original, goal.contents);
        const files = kept(original.place);
        // Once something was done, its backup and what was set aside are there.
        if (files.length !== before.length) expect(files).toContain("store.db.backup-1");
        expect(files.filter((name) => !goal.files.includes(name) && !before.includes(name))).toEqual([]);
      }
    },
    TIMEOUT,
  );

  test.skipIf(SHIM === undefined)(
    "of a process that is killed at any file operation, SQLite's too, is finished by the next one",
    async () => {
      using original = await Original.make(spoil);
      const { path, folder } = original.place;
      const goal = await goalOf(original);
      let killed = 0;
      for (let at = 5; ; at += 31 * stride) {
        original.restore();
        const env = faultEnvironment({ below: folder, on: "any", at, action: "kill-before" });
        const child = Bun.spawn([process.execPath, program.path, path], { env: { ...process.env, ...env } });
        await child.exited;
        await expectWhole(original, goal.contents);
        if (child.signalCode === null) break;
        killed += 1;
        await repair(path);
        expect({ at, errors: await errorsIn(path) }).toEqual({ at, errors: [] });
        expect(await ordinaryContents(path)).toEqual(goal.contents);
        expect(kept(original.place).filter((name) => name.includes(".backup-")).length).toBeLessThanOrEqual(
          4,
        );
      }
      expect(killed).toBeGreaterThan(2);
    },
    TIMEOUT,
  );
});

test(
  "a database that is built anew loses nothing when the power is cut at any moment",
  async () => {
    using original = await Original.make(({ path }) => spoilPage(path, 9, 0xa5));
    const { path, folder } = original.place;
    const before = readFileSync(path);
    const disk = new Disk(folder);
    const node = new FileNode();
    node.durable = before;
    disk.add(path, node);
    disk.syncFolder(folder);
    const states = new Map<string, State>();
    const onStep = () => {
      for (const state of statesOf(disk, true)) states.set(keyOf(state), state);
    };
    let goal: Buffer = before;
    {
      await using repairer = await repairSqlite(path, new Recorder(disk, { onStep }));
      const [step] = (await repairer.plan()).steps;
      if (step?.kind !== "store") throw new Error("a step of another kind");
      await repairer.carryOut(step);
      goal = readFileSync(path);
    }
    let replaced = 0;
    for (const { files } of states.values()) {
      const store = files.get("store.db");
      if (store?.equals(before) === true) continue;
      replaced += 1;
      expect(store?.equals(goal)).toBe(true);
      expect(files.get("store.db.backup-1")?.equals(before)).toBe(true);
    }
    expect([states.size > 10, replaced > 0]).toEqual([true, true]);
    for (const state of states.values()) {
      using other = new Place();
      lay(state, other.folder);
      await repair(other.path);
      expect(await errorsIn(other.path)).toEqual([]);
    }
  },
  TIMEOUT,
);

test.skipIf(!TinyDisk.isAllowed).each(DAMAGES)(
  "on a full disk a repair of %s fails, leaves the store as it was and nothing beside it, and works once there is space",
  async (_, spoil) => {
    using original = await Original.make(spoil);
    using disk = TinyDisk.mount(4) ?? expect.unreachable();
    const place = new Place(disk.folder);
    for (const name of kept(original.place)) {
      writeFileSync(join(place.folder, name), readFileSync(join(original.place.folder, name)), {
        mode: 0o600,
      });
    }
    const before = kept(place);
    const bytes = readFileSync(place.path);
    for (const spare of [40_000, bytes.length + 250_000]) {
      disk.fill(spare);
      const [outcome] = await outcomesOf([repair(place.path)]);
      disk.free();
      if (outcome === "ok") break;
      expect(outcome).toBe("storage-full");
      expect(kept(place)).toEqual(before);
      expect((await examine(place.path, true)).contents).toEqual(original.found.contents);
    }
    await repair(place.path);
    expect(await errorsIn(place.path)).toEqual([]);
  },
  TIMEOUT,
);
