import { describe, expect, test } from "bun:test";
import type { Contract } from "./contract.ts";
import { rejectionOf, title, titleAt } from "./support.ts";

/*
 * Ids that a file system, an escape or a key of a database could take for another one. None is longer than a file's
 * name may be when each unit outside `[A-Za-z0-9._-]` is written as five characters.
 */
const ODD_IDS: readonly string[] = [
  ...[
    "\ud800 lone",
    "\ud800",
    "\udfff",
    "\ud83e\udd80",
    "\ud83e",
    "\udd80",
    "\udd80\ud83e",
    "\\ud800",
    "\ufffd",
  ],
  ...["\u0000", "a\u0000b", "a\u0000", "a\nb\r\n", "\t", "\u007f", "\u2028", "\ufeff"],
  ...["Ω≈ç√ \u{1f980}", "e\u0301", "\u00e9", "ß", "ss", "ı", "\u00e9".repeat(40)],
  ...[
    ".",
    "..",
    "...",
    "../../etc/passwd",
    "./a",
    "a/b",
    "a/b/",
    "a\\b",
    "/",
    "/a",
    "//a",
    "~",
    "~/a",
    "C:",
    "C:\\a",
  ],
  ...[
    "%2e%2e",
    "%2E%2E",
    "a%2Fb",
    "~002E",
    "~002e",
    "~002E~002E",
    "a~002Fb",
    "~~",
    "a~",
    "a_b",
    "a-b",
    "a.b",
  ],
  ...[
    "A",
    "a",
    "aA",
    "Aa",
    " ",
    "  ",
    " a",
    "a ",
    "a.",
    ".a",
    "-a",
    "*",
    "?",
    "a*",
    "%",
    "_",
    "\"'`",
    "$(a)",
    "#a",
  ],
  ...[
    "CON",
    "nul",
    "__proto__",
    "constructor",
    "session.jsonl",
    "_no-cwd",
    "s.lock",
    "0",
    "00",
    "x".repeat(200),
  ],
];

/** Ids that lead out of a folder, or to another one, where they are taken for a path. */
const WAYS_OUT = ["../escaped", "../../escaped", "a/../../escaped", "..\\escaped", "./../escaped", "..", "."];

/** Any string but the empty one is an id, and only its own. */
export function ids({ rigged }: Contract): void {
  describe("ids", () => {
    test(
      "any id is an id of its own, and only that",
      rigged(async (rig) => {
        await Promise.all(ODD_IDS.map((id, k) => rig.stored(id, [{ ...title(k), time: k }])));
        await rig.restart();
        for (const [k, id] of ODD_IDS.entries()) {
          const { header, log } = await rig.store.load(id);
          expect([header.id, log.at(0).data]).toEqual([id, { n: k }]);
          expect(await rig.store.readFrom(id, 0)).toEqual([{ ...titleAt(0), time: k, data: { n: k } }]);
        }
        for (const method of ["list", "listSnapshots"] as const) {
          const listed = (await rig.store[method]({ limit: 1_000 })).items.map(({ id }) => id);
          expect(listed.toSorted()).toEqual(ODD_IDS.toSorted());
        }
        expect(
          (await rig.store.list({ limit: 1_000 })).items.every((item) => item.header?.id === item.id),
        ).toBe(true);
      }),
    );

    test(
      "what is done to one id is done to no other that looks like it",
      rigged(async (rig) => {
        await Promise.all(ODD_IDS.map((id) => rig.stored(id, [title(0)])));
        const gone = ODD_IDS.filter((_, k) => k % 3 === 0);
        const grown = ODD_IDS.filter((_, k) => k % 3 === 1);
        for (const id of gone) await rig.store.delete(id);
        await Promise.all(grown.map((id) => rig.store.append(id, [titleAt(1)])));
        await rig.restart();
        for (const id of gone) {
          expect(await rejectionOf(rig.store.inspect(id))).toMatchObject({ code: "not-found" });
        }
        const kept = ODD_IDS.filter((id) => !gone.includes(id));
        for (const id of kept) {
          expect((await rig.store.inspect(id)).log.length).toBe(grown.includes(id) ? 2 : 1);
        }
        const listed = (await rig.store.list({ limit: 1_000 })).items.map(({ id }) => id);
        expect(listed.toSorted()).toEqual(kept.toSorted());
      }),
    );

    test(
      "no id leads out of the place of the store",
      rigged(async (rig) => {
        const ways = [...WAYS_OUT, `${rig.place}/../escaped`, "~/escaped"];
        for (const id of ways) await rig.stored(id, [title(0)]);
        expect(await rig.strays()).toEqual([]);
        await rig.restart();
        for (const id of ways) await rig.store.append(id, [titleAt(1)]);
        expect((await rig.store.list()).items.map(({ id }) => id).toSorted()).toEqual(ways.toSorted());
        for (const id of ways) await rig.store.delete(id);
        expect(await rig.strays()).toEqual([]);
        expect((await rig.store.list()).items).toEqual([]);
        await rig.restart();
      }),
    );

    test(
      "an empty id is none: refused, and nothing is read or written for it",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        expect(await rejectionOf(rig.store.inspect(""))).toMatchObject({ code: "not-found" });
        expect(await rejectionOf(rig.store.readFrom("", 0))).toMatchObject({ code: "not-found" });
        expect(await rejectionOf(rig.store.delete(""))).toMatchObject({ code: "not-found" });
        expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      }),
    );
  });
}
