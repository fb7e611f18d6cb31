import { describe, expect, test } from "bun:test";
import type { SessionHeader } from "../../src/session/header.ts";
import type { Contract } from "./contract.ts";
import { headerOf, type Rig } from "./rig.ts";
import { rejectionOf, title } from "./support.ts";

const FULL: Partial<SessionHeader> = {
  createdAt: 0,
  cwd: "/tmp/\u2028\ud800",
  parentSession: "parent \u0000",
  seedLength: 3,
  origin: 'cli "x"',
  delegationDepth: 2,
  agentPreset: "\u{1f980}",
};

/** Working directories of this and other systems; some differ only in what a folder's name cannot show. */
const CWDS: ReadonlyArray<string | undefined> = [
  undefined,
  "/",
  "/work",
  "/work/",
  "/work/a",
  "/work-a",
  "/work:a",
  "\\work\\a",
  "C:\\work",
  "C:/work",
  "\\\\server\\share",
  "/home/\u00e9/\u{1f980} \ud800",
  "../..",
  "~",
  "_no-cwd",
  `/${"long/".repeat(100)}`,
];

async function expectHeader(rig: Rig, header: SessionHeader): Promise<void> {
  const { id } = header;
  expect((await rig.store.inspect(id)).header).toEqual(header);
  expect((await rig.store.load(id)).header).toEqual(header);
  const listed = (await rig.store.list()).items.find((item) => item.id === id);
  expect(listed?.header).toEqual(header);
  expect(listed?.problem).toBeUndefined();
}

/** A header is kept as it was given, and its working directory is nothing but a member of it. */
export function headers({ rigged }: Contract): void {
  describe("headers", () => {
    test(
      "a header comes back as it was given, whatever members it has",
      rigged(async (rig) => {
        const given = [{}, ...Object.entries(FULL).map(([key, value]) => ({ [key]: value })), FULL];
        const headers = given.map((more, k) => headerOf(`s${k}`, more));
        for (const header of headers) {
          await using session = await rig.store.create(header);
          expect(session.header).toEqual(header);
          await session.log.append(title(0));
        }
        await rig.restart();
        for (const header of headers) {
          await expectHeader(rig, header);
          const { session } = await rig.resume(header.id);
          expect(session.header).toEqual(header);
        }
      }),
    );

    test(
      "a session that says nothing of its depth is at depth 0, from the beginning",
      rigged(async (rig) => {
        await using session = await rig.store.create({ version: 0, id: "s", createdAt: 1_700_000_000_000 });
        expect(session.header).toEqual(headerOf("s"));
        await session.log.append(title(0));
        await session[Symbol.asyncDispose]();
        await rig.restart();
        await expectHeader(rig, headerOf("s"));
      }),
    );

    test(
      "sessions of the same working directory, of another system's or of none are all there",
      rigged(async (rig) => {
        const headers = CWDS.flatMap((cwd, k) =>
          ["a", "b"].map((name) => headerOf(`${name} ${k}`, cwd === undefined ? {} : { cwd })),
        );
        await Promise.all(
          headers.map(({ id, cwd }) => rig.stored(id, [title(0)], cwd === undefined ? {} : { cwd })),
        );
        expect(await rig.strays()).toEqual([]);
        await rig.restart();
        for (const header of headers) await expectHeader(rig, header);
        const listed = (await rig.store.list()).items.map(({ id }) => id);
        expect(listed.toSorted()).toEqual(headers.map(({ id }) => id).toSorted());
      }),
    );

    test(
      "an empty working directory counts as none, and a delegation depth that is not given as 0",
      rigged(async (rig) => {
        const { delegationDepth: _, ...bare } = headerOf("s", { cwd: "" });
        await using session = await rig.store.create(bare);
        expect(session.header).toEqual(headerOf("s"));
        await session.log.append(title(0));
        await rig.restart();
        await expectHeader(rig, headerOf("s"));
      }),
    );

    test(
      "an id is taken in every working directory, and free in every one after it was deleted",
      rigged(async (rig) => {
        await rig.stored("s", [title(1)], { cwd: "/a" });
        await rig.restart();
        for (const more of [{}, { cwd: "/b" }, { cwd: "/a" }]) {
          expect(await rejectionOf(rig.store.create(headerOf("s", more)))).toMatchObject({
            code: "already-exists",
          });
        }
        await rig.store.delete("s");
        await rig.stored("s", [title(2)], { cwd: "/b" });
        await rig.restart();
        const { header, log } = await rig.store.inspect("s");
        expect([header.cwd, log.length, log.at(0).data]).toEqual(["/b", 1, { n: 2 }]);
        expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      }),
    );

    test(
      "where a session lies is a matter of its header alone",
      rigged(async (rig) => {
        const header = headerOf("s", { cwd: "/a" });
        const before = rig.store.locate(header);
        await rig.stored("s", [title(0)], { cwd: "/a" });
        expect(rig.store.locate(header)).toBe(before);
        expect((await rig.store.list()).items[0]?.location ?? before).toBe(before);
      }),
    );
  });
}
