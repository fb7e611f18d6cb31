import { describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type FileSystem, SYSTEM } from "../../../src/store/file-system.ts";
import { rejectionOf, title, titleAt } from "../../contract/support.ts";
import { ENCODINGS, Place } from "./place.ts";

const OPENER = join(import.meta.dir, "../../fixtures/open-store.ts");
const header = (id: string) => ({ version: 0, id, createdAt: 1, cwd: "/p" }) as const;

/** How a process of its own gets on with opening a root. */
function openElsewhere(root: string): string {
  const { stdout } = Bun.spawnSync([process.execPath, OPENER, root, "jsonl"]);
  return stdout.toString();
}

describe("a root that lies at two paths", () => {
  const mounts = new Place();
  const second = join(mounts.folder, "second");
  mkdirSync(second);
  const canMount = Bun.spawnSync(["mount", "--bind", second, second]).success;
  if (canMount) Bun.spawnSync(["umount", second]);
  mounts[Symbol.dispose]();

  test.skipIf(!canMount)(
    "has one lock, also where it is mounted elsewhere (skipped where nothing can be mounted)",
    async () => {
      using place = new Place();
      const elsewhere = join(place.folder, "elsewhere");
      mkdirSync(elsewhere);
      expect(Bun.spawnSync(["mount", "--bind", place.root, elsewhere]).success).toBeTrue();
      try {
        {
          await using _ = await place.open();
          expect(openElsewhere(elsewhere)).toContain('"code":"locked"');
        }
        expect(openElsewhere(elsewhere)).toContain('"code":"ok"');
      } finally {
        Bun.spawnSync(["umount", elsewhere]);
      }
    },
  );
});

describe.each(ENCODINGS)("somebody else who writes to a log that is open, encoding %s", (encoding) => {
  const theirs = Buffer.from("somebody else's bytes\n");

  test("at the same moment: the append fails, nothing of theirs is cut off, and the log takes no more", async () => {
    for (const alsoFails of [false, true]) {
      using place = new Place();
      let isMeddling = false;
      const system: FileSystem = {
        ...SYSTEM,
        write: (file, bytes) => {
          if (isMeddling) appendFileSync(place.log("s", encoding), theirs);
          return SYSTEM.write(file, bytes);
        },
        fdatasync: (file) => {
          if (isMeddling && alsoFails) throw Object.assign(new Error("EIO: injected"), { code: "EIO" });
          SYSTEM.fdatasync(file);
        },
      };
      await using store = place.openOn(system, encoding);
      const session = await store.create(header("s"));
      await session.log.append(title(0));
      isMeddling = true;
      expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-failed" });
      isMeddling = false;
      expect(session.log.length).toBe(1);
      expect(readFileSync(place.log("s", encoding)).includes(theirs)).toBeTrue();
      const { size } = statSync(place.log("s", encoding));
      expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-failed" });
      expect(statSync(place.log("s", encoding)).size).toBe(size);
      expect((await store.health()).writable).toBeFalse();
      // Readers here see what was acknowledged.
      expect(await store.readFrom("s", 0)).toEqual([expect.objectContaining({ seq: 0 })]);
    }
  });

  test("who cuts it while an append fails: it is not filled up with zeros, and takes no more", async () => {
    using place = new Place();
    let isMeddling = false;
    const system: FileSystem = {
      ...SYSTEM,
      write: (file, bytes) => {
        if (!isMeddling) return SYSTEM.write(file, bytes);
        truncateSync(place.log("s", encoding), 5);
        throw Object.assign(new Error("ENOSPC: injected"), { code: "ENOSPC" });
      },
    };
    await using store = place.openOn(system, encoding);
    const session = await store.create(header("s"));
    await session.log.append(title(0));
    isMeddling = true;
    expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-full" });
    isMeddling = false;
    expect(statSync(place.log("s", encoding)).size).toBe(5);
    expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-failed" });
    expect(statSync(place.log("s", encoding)).size).toBe(5);
  });

  test.each([
    ["cut", (path: string) => truncateSync(path, statSync(path).size - 3)],
    ["emptied", (path: string) => truncateSync(path, 0)],
    ["longer", (path: string) => appendFileSync(path, theirs)],
  ] as const)("before: the store says that it is not writable, once the log is %s", async (_, change) => {
    using place = new Place();
    await using store = await place.open(encoding);
    await using session = await store.create(header("s"));
    await session.log.append(title(0));
    expect((await store.health()).writable).toBeTrue();
    change(place.log("s", encoding));
    expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
    expect(await rejectionOf(store.append("s", [titleAt(1)]))).toBeInstanceOf(Error);
  });
});
