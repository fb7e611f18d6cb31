import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { SYSTEM } from "../../../src/store/file-system.ts";
import { planSqliteRepair, repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { rejectionOf, title } from "../../contract/support.ts";
import { AS_NOBODY } from "../../fixtures/nobody.ts";
import { systemError } from "../../fixtures/watched-disk.ts";
import { errorsIn, ordinaryContents, overwrite, repair, spoilPage } from "./damaged.ts";
import { Place } from "./place.ts";

/* Which of the files beside a database a repair takes for its own: none that it did not make. */

const KINDS: ReadonlyArray<readonly [string, (place: Place) => void]> = [
  ["rows", (place) => place.run("UPDATE records SET body = 'x' WHERE seq = 30")],
  // One byte of the first page: nothing is lost.
  ["pages", ({ path }) => overwrite(path, 101, Uint8Array.of(0x7f))],
];

async function filled(sessions = 2): Promise<Place> {
  const place = new Place();
  const drafts = Array.from({ length: 40 }, (_, n) => title(n));
  await place.fill(Object.fromEntries(Array.from({ length: sessions }, (_, n) => [`s${n}`, drafts])));
  return place;
}

/** Names that somebody may give a file of his own, behind that of the store, and the number that a repair takes beside it. */
const OTHERS: ReadonlyArray<readonly [string, number]> = [
  // Numbers that a double does not tell from the next, or that come before it.
  ["backup-20261129221530124", 1],
  ["backup-9007199254740993", 1],
  ["quarantine-20261129", 1],
  ["backup-01", 1],
  ["backup-0", 1],
  ["backup-", 1],
  ["backup-1e3", 2],
  ["backup-7.bak", 8],
  ["backup-3", 4],
  ["backup-3-wal", 4],
  ["quarantine-5", 6],
  ["backup-999999", 1_000_000],
  // What drafts might be called.
  ["backup-1.draft", 2],
  ["quarantine-1.draft", 2],
  ["rebuilding", 1],
  ["folding", 1],
  ["rebuilding-wal", 1],
  ["new", 1],
];

describe.each(KINDS)("a repair of %s", (kind, spoil) => {
  test.each(OTHERS)("leaves a file alone that is named %s, and takes the number %d", async (name, number) => {
    using place = await filled();
    const old = readFileSync(place.path);
    const other = `${place.path}.${name}`;
    // An older copy of the store: a repair that took it for its own would go back to it.
    writeFileSync(other, old);
    await place.fill({ later: [title(0)] });
    spoil(place);
    const before = readFileSync(place.path);
    const backup = `${place.path}.backup-${number}`;
    expect((await planSqliteRepair(place.path)).steps[0]).toMatchObject({ backup });
    expect((await repair(place.path)).steps[0]).toMatchObject({ backup });
    expect(readFileSync(backup).equals(before)).toBe(true);
    expect(readFileSync(other).equals(old)).toBe(true);
    expect(await errorsIn(place.path)).toEqual([]);
    expect((await ordinaryContents(place.path))["later"]?.length).toBe(1);
  });

  test.each(["backup-1", "backup-1-wal"])(
    "fails where %s appears after it was planned; the file stays, and so does the store",
    async (name) => {
      using place = await filled();
      spoil(place);
      const other = `${place.path}.${name}`;
      {
        await using repairer = await repairSqlite(place.path);
        const [step = expect.unreachable()] = (await repairer.plan()).steps;
        writeFileSync(other, "mine");
        const before = place.contents();
        expect(await rejectionOf(repairer.carryOut(step))).toMatchObject({
          code: "storage-failed",
          place: { path: other },
        });
        expect(place.contents()).toEqual(before);
      }
      expect((await repair(place.path)).steps[0]).toMatchObject({ backup: `${place.path}.backup-2` });
      expect(await errorsIn(place.path)).toEqual([]);
      expect(readFileSync(other, "utf8")).toBe("mine");
    },
  );

  test("uses the backup of one that was killed, and of no other store than the present one", async () => {
    using place = await filled();
    spoil(place);
    const backup = `${place.path}.backup-3`;
    copyFileSync(place.path, backup);
    {
      await using repairer = await repairSqlite(place.path);
      const [step = expect.unreachable()] = (await repairer.plan()).steps;
      expect(step.backup).toBe(backup);
      // Written after it was planned: there is no backup of this.
      place.run("INSERT INTO sqlite_sequence VALUES ('other', 1)");
      expect(await rejectionOf(repairer.carryOut(step))).toMatchObject({ code: "storage-failed" });
    }
    const before = readFileSync(place.path);
    expect((await repair(place.path)).steps[0]).toMatchObject({ backup: `${place.path}.backup-4` });
    expect(readFileSync(`${place.path}.backup-4`).equals(before)).toBe(true);
  });

  test.each<[string, (path: string, backup: string) => void]>([
    ["a link to the store", (path, backup) => symlinkSync(path, backup)],
    ["a link that leads nowhere", (path, backup) => symlinkSync(`${path}.gone`, backup)],
    ["a folder", (_, backup) => mkdirSync(backup)],
    ["a pipe, which is not read", (_, backup) => void Bun.spawnSync(["mkfifo", backup])],
    [
      "a copy with a log of its own",
      (path, backup) => {
        copyFileSync(path, backup);
        writeFileSync(`${backup}-wal`, "log");
      },
    ],
    [
      "a copy but for a byte",
      (path, backup) => {
        copyFileSync(path, backup);
        overwrite(backup, statSync(path).size - 1, Uint8Array.of(0x11));
      },
    ],
  ])("takes %s for no backup", async (_, make) => {
    using place = await filled();
    spoil(place);
    make(place.path, `${place.path}.backup-1`);
    const { steps } = await repair(place.path);
    expect(steps[0]).toMatchObject({ backup: `${place.path}.backup-2` });
    expect(await errorsIn(place.path)).toEqual([]);
  });

  test("works, and writes over nothing, where a file system has no second names", async () => {
    using place = await filled();
    spoil(place);
    const disk = {
      ...SYSTEM,
      link: () => {
        throw systemError("EPERM");
      },
    };
    {
      await using repairer = await repairSqlite(place.path, disk);
      const [step = expect.unreachable()] = (await repairer.plan()).steps;
      writeFileSync(step.backup, "mine");
      expect(await rejectionOf(repairer.carryOut(step))).toMatchObject({ code: "storage-failed" });
      expect(readFileSync(step.backup, "utf8")).toBe("mine");
    }
    await using repairer = await repairSqlite(place.path, disk);
    for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
    expect(Object.keys(place.contents()).filter((name) => name.includes("draft"))).toEqual([]);
    expect(existsSync(`${place.path}.backup-2`)).toBe(true);
  });

  test.skipIf(AS_NOBODY === undefined)(
    "by root leaves the store and all beside it to its owner (skipped without root)",
    async () => {
      using place = await filled();
      spoil(place);
      // What is set aside, too.
      if (kind === "pages") spoilPage(place.path, 9, 0xa5);
      chownSync(place.path, 1234, 1235);
      chmodSync(place.path, 0o640);
      await repair(place.path);
      const owners = Object.keys(place.contents()).map((name) => {
        const { uid, gid, mode } = statSync(`${place.folder}/${name}`);
        return [name, uid, gid, mode & 0o777] as const;
      });
      expect(owners.length).toBeGreaterThanOrEqual(kind === "pages" ? 3 : 4);
      for (const [name, ...owner] of owners)
        expect([name, ...owner]).toEqual([name, 1234, 1235, name === "store.db" ? 0o640 : 0o600]);
    },
  );
});

test("a quarantine file is written over by no repair", async () => {
  using place = await filled();
  place.run("UPDATE records SET body = 'x' WHERE seq = 30");
  await using repairer = await repairSqlite(place.path);
  const { steps } = await repairer.plan();
  const [first, second] = steps;
  if (first?.quarantine === undefined || second?.quarantine === undefined) throw new Error("no two steps");
  writeFileSync(second.quarantine, "mine");
  await repairer.carryOut(first);
  const before = readFileSync(place.path);
  expect(await rejectionOf(repairer.carryOut(second))).toMatchObject({
    place: { path: second.quarantine },
  });
  expect(readFileSync(second.quarantine, "utf8")).toBe("mine");
  expect(readFileSync(place.path).equals(before)).toBe(true);
});

test("the log of a backup that did not come to be is removed only where its draft shows whose it is", async () => {
  using place = await filled();
  const [ours, theirs] = [`${place.path}.backup-1`, `${place.path}.backup-2`];
  writeFileSync(`${ours}.holdfast-draft-wal`, "log");
  linkSync(`${ours}.holdfast-draft-wal`, `${ours}-wal`);
  writeFileSync(`${ours}.holdfast-draft`, "half");
  writeFileSync(`${theirs}.holdfast-draft-wal`, "log");
  writeFileSync(`${theirs}-wal`, "log");
  expect((await repair(place.path)).steps).toEqual([]);
  const left = Object.keys(place.contents()).filter((name) => name.includes("backup"));
  expect(left).toEqual(["store.db.backup-2-wal"]);
  rmSync(`${theirs}-wal`);
});

test("one of many damaged sessions is repaired without a look at the others", async () => {
  const readsFor = async (sessions: number): Promise<number> => {
    using place = await filled(sessions);
    place.run("UPDATE records SET body = 'x' WHERE seq = 30");
    await using repairer = await repairSqlite(place.path);
    const { steps } = await repairer.plan();
    expect(steps.length).toBe(sessions);
    const [crc32, last = expect.unreachable()] = [Bun.hash.crc32, steps.at(-1)];
    let reads = 0;
    Bun.hash.crc32 = (...args) => {
      reads += 1;
      return crc32(...args);
    };
    try {
      await repairer.carryOut(last);
    } finally {
      Bun.hash.crc32 = crc32;
    }
    return reads;
  };
  const few = await readsFor(2);
  expect(few).toBeGreaterThan(0);
  expect(await readsFor(30)).toBe(few);
});
