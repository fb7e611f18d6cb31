import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bundle } from "../fixtures/bundle.ts";
import { CONTENDER, Contender } from "../fixtures/contender.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/* One writer a store, whatever the store is, however its path is written, and however the first writer ended. */

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(CONTENDER);
});
afterAll(() => program[Symbol.asyncDispose]());

/** Where a store lies below a folder, and where its lock notes the owner. */
const KINDS = [
  ["sqlite", "data/store.db", "data/store.db.owner"],
  ["jsonl", "data/logs", "data/logs/.holdfast.owner"],
] as const;

/** Ways to name it, for a process that works in `folder`; links are made first. */
const SPELLINGS: ReadonlyArray<readonly [string, (folder: string, store: string) => string]> = [
  ["the same path", (folder, store) => join(folder, store)],
  ["a relative path", (_, store) => store],
  ["a path with dots", (folder, store) => `${folder}/./data/../${store.replace("/", "//")}`],
  ["a path with a slash at its end", (folder, store) => `${folder}/${store}/`],
  ["a link to it", (folder) => join(folder, "link-to-store")],
  ["a link to a link to it", (folder) => join(folder, "link-to-link")],
  ["a path through a linked folder", (folder, store) => join(folder, "linked", store)],
];

function makeLinks(folder: string, store: string): void {
  mkdirSync(join(folder, "elsewhere"));
  symlinkSync(join(folder, store), join(folder, "link-to-store"));
  symlinkSync("link-to-store", join(folder, "link-to-link"));
  symlinkSync("..", join(folder, "elsewhere", "up"));
  symlinkSync("elsewhere/up", join(folder, "linked"));
}

describe.each(KINDS)("a %s store", (kind, store, ownerFile) => {
  test.each(SPELLINGS)(
    "held under one path is held under %s, and free when the holder was killed or its pid is another's",
    async (_, spell) => {
      await using folder = await TempFolder.create();
      makeLinks(folder.path, store);
      const [plain, other] = [folder.at(store), spell(folder.path, store)];
      await using resources = new AsyncDisposableStack();
      const [first, second] = await Promise.all([1, 2].map(() => Contender.start(folder.path, program.path)));
      if (first === undefined || second === undefined) throw new Error("there are not two");
      for (const contender of [first, second]) resources.use(contender);
      // Two processes, either way round.
      expect((await first.open(other, kind)).code).toBe("ok");
      expect(await second.open(plain, kind)).toMatchObject({ code: "locked", holder: { pid: first.pid } });
      expect((await first.close()).code).toBe("closed");
      expect((await second.open(plain, kind)).code).toBe("ok");
      expect(await first.open(other, kind)).toMatchObject({ code: "locked", holder: { pid: second.pid } });
      // Killed, and its pid belongs to a process that lives.
      await second.kill();
      expect((await first.open(other, kind)).code).toBe("ok");
      expect((await first.close()).code).toBe("closed");
      const owner = { pid: process.pid, startedAt: new Date(0).toISOString() };
      writeFileSync(folder.at(ownerFile), JSON.stringify(owner));
      expect((await first.open(other, kind)).code).toBe("ok");
    },
  );
});
