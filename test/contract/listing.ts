import { describe, expect, test } from "bun:test";
import type { Contract } from "./contract.ts";
import type { Rig } from "./rig.ts";
import { title, titleAt } from "./support.ts";

const METHODS = ["list", "listSnapshots"] as const;
const MOST_PAGES = 100;

async function fill(rig: Rig, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, k) => `session ${k}`);
  await Promise.all(ids.map((id) => rig.stored(id, [title(0)])));
  return ids;
}

/** The ids of all pages. `between` runs after each page but the last, and is given what was listed so far. */
async function page(
  rig: Rig,
  method: (typeof METHODS)[number],
  limit?: number,
  between: (listed: readonly string[]) => Promise<void> = async () => {},
) {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await rig.store[method]({
      ...(limit === undefined ? {} : { limit }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    pages.push(items.map(({ id }) => id));
    if (pages.length > MOST_PAGES) throw new Error("the pages do not end");
    cursor = nextCursor;
    if (cursor !== undefined) await between(pages.flat());
  } while (cursor !== undefined);
  return pages;
}

/** Ids whose order depends on how they are encoded, and ids that others begin with. */
const ODD_IDS = [
  "a",
  "a!",
  "a-",
  "a.b",
  "a/b",
  "a~",
  "aa",
  "A",
  "b",
  "z\n",
  "\u00e9",
  "\ud800",
  "\uffff",
  "0",
  "10",
];

/** Listing opens no log, and is paged. */
export function listing({ rigged, needing }: Contract): void {
  describe("listing", () => {
    for (const method of METHODS) {
      test(
        `${method}: pages hold each session once, whatever their size`,
        rigged(async (rig) => {
          const ids = await fill(rig, 12);
          await rig.restart();
          for (const limit of [1, 5, 6, 11, 12, 13, 1_000, Number.POSITIVE_INFINITY]) {
            const pages = await page(rig, method, limit);
            expect(pages.flat().toSorted()).toEqual(ids.toSorted());
            expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
            expect(pages.length).toBe(Math.max(1, Math.ceil(ids.length / limit)));
          }
        }),
      );

      test(
        `${method}: pages hold each session once, however alike their ids are`,
        rigged(async (rig) => {
          for (const id of ODD_IDS) await rig.stored(id, [title(0)]);
          await rig.restart();
          for (const limit of [1, 2, 3]) {
            expect((await page(rig, method, limit)).flat().toSorted()).toEqual(ODD_IDS.toSorted());
          }
        }),
      );

      test(
        `${method}: a page without a limit is bounded`,
        rigged(async (rig) => {
          const ids = await fill(rig, 105);
          const pages = await page(rig, method);
          expect(pages.map(({ length }) => length)).toEqual([100, 5]);
          expect(new Set(pages.flat())).toEqual(new Set(ids));
        }),
      );

      const changes: ReadonlyArray<
        readonly [string, (rig: Rig, seen: readonly string[], unseen: readonly string[]) => Promise<void>]
      > = [
        ["come", (rig, seen) => rig.stored(`new ${seen.length}`, [title(0)])],
        [
          "grow",
          async (rig, _, [next = ""]) => {
            await rig.store.append(next, [titleAt((await rig.store.readFrom(next, 0)).length)]);
          },
        ],
        // The one that the cursor may point at.
        ["go", (rig, seen) => rig.store.delete(seen.at(-1) ?? "")],
      ];
      for (const [what, change] of changes) {
        test(
          `${method}: sessions that ${what} between two pages disturb no other`,
          rigged(async (rig) => {
            const ids = await fill(rig, 9);
            const pages = await page(rig, method, 2, (listed) =>
              change(
                rig,
                listed.filter((id) => ids.includes(id)),
                ids.filter((id) => !listed.includes(id)),
              ),
            );
            const old = pages.flat().filter((id) => ids.includes(id));
            expect(old.toSorted()).toEqual(ids.toSorted());
            expect(new Set(pages.flat()).size).toBe(pages.flat().length);
          }),
        );
      }

      test(
        `${method}: an empty store has an empty page`,
        rigged(async (rig) => {
          expect(await rig.store[method]()).toEqual({ items: [] });
        }),
      );
    }

    test(
      "snapshots are equal while nothing changed, and differ for just the session that did",
      rigged(async (rig) => {
        await fill(rig, 4);
        const before = await rig.store.listSnapshots();
        expect(await rig.store.listSnapshots()).toEqual(before);
        await rig.restart();
        if (rig.capabilities.durable) expect(await rig.store.listSnapshots()).toEqual(before);
        await rig.store.append("session 2", [titleAt(1)]);
        const after = new Map(
          (await rig.store.listSnapshots()).items.map(({ id, revision }) => [id, revision]),
        );
        const changed = before.items.filter(({ id, revision }) => after.get(id) !== revision);
        expect(changed.map(({ id }) => id)).toEqual(["session 2"]);
      }),
    );

    needing("faults", "with counted calls", () => {
      test(
        "listing opens no log",
        rigged(async (rig) => {
          await fill(rig, 3);
          await page(rig, "list");
          await page(rig, "listSnapshots");
          expect(rig.faults.calls("readStored") + rig.faults.calls("readSuffix")).toBe(0);
        }),
      );
    });
  });
}
