import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { StoreNotFoundError } from "../../../src/store/errors.ts";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import { openJsonlReadOnly } from "../../../src/store/jsonl/index.ts";
import { planJsonlRepair, repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { rejectionOf } from "../../contract/support.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";

/* A folder that is named as a root of session logs and is none: said to be sound, it would hide a slip of the pen. */

const read = (root: string) => openJsonlReadOnly({ root, clock: () => 0 });
const OPENERS = { read, check: examineJsonl, plan: planJsonlRepair, repair: repairJsonl } as const;

async function expectRefused(
  opener: keyof typeof OPENERS,
  folder: string,
  message: string,
  hint: string,
): Promise<void> {
  const error = await rejectionOf(OPENERS[opener](folder));
  expect(error).toBeInstanceOf(StoreNotFoundError);
  expect(error).toMatchObject({ place: { path: folder } });
  if (error instanceof StoreNotFoundError) {
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  }
}

describe.each(["read", "check", "plan", "repair"] as const)("to %s", (opener) => {
  test.each(ENCODINGS)(
    "a project's or a session's folder is refused, with the root named (%s)",
    async (encoding) => {
      for (const project of ["--srv-x--", "_no-cwd"]) {
        using place = new Place();
        const { bytes } = buildLog("s", encoding, [[titleText(0)]]);
        place.put("s", encoding, bytes, project);
        const before = place.contents();
        const folder = join(place.root, project);
        await expectRefused(opener, folder, "that of one project", `Name its parent: ${place.root}`);
        const session = join(folder, "s");
        await expectRefused(opener, session, "that of one session", `two folders up: ${place.root}`);
        expect(place.contents()).toEqual(before);
      }
    },
  );

  test("a folder of something else is refused, and left as it is", async () => {
    using place = new Place();
    await expectRefused(opener, place.root, "no session log in the folder", "Check the path");
    place.file(join(place.root, "a", "b", "notes.txt"), "x");
    const before = place.contents();
    await expectRefused(opener, place.root, "no session log in the folder", "Check the path");
    expect(place.contents()).toEqual(before);
  });
});

test("a folder of roots, such as a trash, is refused, and the last of them are named", async () => {
  using place = new Place();
  const { bytes } = buildLog("s", "none", [[titleText(0)]]);
  const roots = ["a", "b", "c", "d"].map((name) => join(place.root, name));
  for (const root of roots) place.file(join(root, "_no-cwd", "s.jsonl"), bytes);
  const hint = `Name one: ${roots.slice(1).reverse().join(", ")}, and others`;
  await expectRefused("read", place.root, "no session log in the folder", hint);
  await using store = await read(roots[0] ?? "");
  expect((await store.list()).items).toHaveLength(1);
});

test("a folder with databases in it is refused, and the first of them are named; none is opened that may be locked", async () => {
  using place = new Place();
  const magic = Buffer.from("SQLite format 3\0 and more");
  place.file(join(place.root, "a.db"), Buffer.from("no database"));
  place.file(join(place.root, "b.db"), magic);
  const hint = `There is a database in it. Name that: ${join(place.root, "b.db")}`;
  await expectRefused("check", place.root, "no session log in the folder", hint);
  // What a store is by its lock file is not looked at.
  place.file(join(place.root, "c.sqlite"), Buffer.from("held"));
  place.file(join(place.root, "c.sqlite.lock"), Buffer.alloc(0));
  for (const name of ["d.db", "e.db"]) place.file(join(place.root, name), magic);
  const names = ["b.db", "c.sqlite", "d.db"].map((name) => join(place.root, name));
  const several = `There are databases in it. Name one: ${names.join(", ")}, and others`;
  await expectRefused("read", place.root, "no session log in the folder", several);
});

test("a root without a log that a Host has used is one", async () => {
  using place = new Place();
  await (await place.open()).close();
  await using examiner = await examineJsonl(place.root);
  expect(await Array.fromAsync(examiner.sessions())).toEqual([]);
  expect((await planJsonlRepair(place.root)).steps).toEqual([]);
});

test("a root is one whatever its own name is, and with logs that lie in their project's folder", async () => {
  using place = new Place();
  const root = join(place.root, "--logs--");
  const { bytes } = buildLog("s", "none", [[titleText(0)]]);
  place.file(join(root, "_no-cwd", "s.jsonl"), bytes);
  mkdirSync(join(root, "--empty--"));
  await using store = await read(root);
  expect((await store.list()).items.map(({ id }) => id)).toEqual(["s"]);
  await using examiner = await examineJsonl(root);
  expect((await Array.fromAsync(examiner.sessions())).map(({ id }) => id)).toEqual(["s"]);
});
