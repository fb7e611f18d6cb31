import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import type { EventDraft } from "../../../src/session/events.ts";
import { openJsonl } from "../../../src/store/jsonl/index.ts";
import { outcomesOf, title, titleAt } from "../../contract/support.ts";
import { TinyDisk } from "../../fixtures/tiny-disk.ts";
import { randomBytes, seeded } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

const header = (id: string) => ({ version: 0, id, createdAt: 1, cwd: "/p" }) as const;

/** An event that takes its size on the disk, however it is compressed. */
function large(n: number): EventDraft {
  return { type: "session/title", data: { n, noise: randomBytes(30_000, seeded(n)).toString("base64") } };
}

describe.skipIf(!TinyDisk.isAllowed)(
  "a full disk (a small file system is mounted for it; skipped where that is not allowed)",
  () => {
    for (const encoding of ENCODINGS) {
      for (const thread of ["process", "worker"] as const) {
        test(`in the middle of a session, writing in the ${thread}, encoding ${encoding}: memory is what the disk holds`, async () => {
          using disk = TinyDisk.mount();
          if (disk === undefined) throw new Error("a moment ago this was allowed");
          const { root } = new Place(disk.folder);
          const open = () => openJsonl({ root, encoding, thread, clock: () => 1, chunkWindowMs: 0 });
          const store = await open();
          const session = await store.create(header("s"));
          let texts: string[] = [];
          for (let round = 0; round < 3; round += 1) {
            await session.log.append(title(round));
            // Room for some whole events, and for a part of one more.
            disk.fill(100_000 + 4_096 * round);
            let outcome: string | undefined = "ok";
            for (let n = 0; outcome === "ok"; n += 1)
              [outcome] = await outcomesOf([session.log.append(large(n))]);
            expect(outcome).toBe("storage-full");
            texts = [...session.log.texts()];
            expect(await readLog(store, "s")).toEqual({ texts, torn: false });
            expect(await store.health()).toMatchObject({ writable: false, problem: "storage-full" });
            disk.free();
          }
          const { length } = session.log;
          expect((await session.log.append(large(99))).seq).toBe(length);
          texts = [...session.log.texts()];
          expect(await store.health()).toMatchObject({ writable: true });
          await store.close();
          await using again = await open();
          expect([...(await again.inspect("s")).log.texts()]).toEqual(texts);
          expect(await readLog(again, "s")).toEqual({ texts, torn: false });
        });
      }

      test(`that has not a block left, encoding ${encoding}: nothing is made, all is read, and freed space is enough`, async () => {
        using disk = TinyDisk.mount();
        if (disk === undefined) throw new Error("a moment ago this was allowed");
        const place = new Place(disk.folder);
        await using store = await place.open(encoding);
        const session = await store.create(header("s"));
        await session.log.append(title(0));
        disk.fill();
        const before = place.contents();
        const fresh = await store.create(header("new"));
        const outcomes = await outcomesOf([fresh.log.append(title(0)), session.log.append(large(1))]);
        expect(outcomes).toEqual(["storage-full", "storage-full"]);
        expect(place.contents()).toEqual(before);
        expect((await store.list()).items.map(({ id }) => id)).toEqual(["s"]);
        expect((await store.readFrom("s", 0)).map(({ data }) => data)).toEqual([{ n: 0 }]);
        disk.free();
        expect((await fresh.log.append(title(0))).seq).toBe(0);
        expect((await session.log.append(large(1))).seq).toBe(1);
      });

      test(`keeps a torn log as it is, encoding ${encoding}: it is repaired when there is space`, async () => {
        using disk = TinyDisk.mount();
        if (disk === undefined) throw new Error("a moment ago this was allowed");
        const place = new Place(disk.folder);
        const path = place.log("s", encoding);
        {
          await using store = await place.open(encoding);
          const session = await store.create(header("s"));
          await session.log.append(title(0));
          await session.log.append(large(1));
        }
        writeFileSync(path, readFileSync(path).subarray(0, statSync(path).size - 9));
        const torn = readFileSync(path);
        await using store = await place.open(encoding);
        disk.fill();
        expect(await outcomesOf([store.load("s"), store.prepare("s")])).toEqual([
          "storage-full",
          "storage-full",
        ]);
        expect(readFileSync(path).equals(torn)).toBe(true);
        expect((await readLog(store, "s")).texts.length).toBe(1);
        disk.free();
        expect((await store.load("s")).log.length).toBe(1);
        await store.append("s", [titleAt(1)]);
        expect((await readLog(store, "s")).texts.length).toBe(2);
      });
    }
  },
);
