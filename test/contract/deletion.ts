import { describe, expect, test } from "bun:test";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { outcomesOf, rejectionOf, title, titleAt } from "./support.ts";

/** Deleting sessions that are not open. */
export function deletion({ rigged }: Contract): void {
  describe("deleting", () => {
    test(
      "a deleted session is gone for every reader, also after a restart; others stay",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        await rig.stored("other", [title(0), title(1)]);
        const other = (await rig.store.inspect("other")).revision;
        await rig.store.delete("s");
        for (const restart of [false, true]) {
          if (restart) await rig.restart();
          const outcomes = await outcomesOf([
            rig.store.inspect("s"),
            rig.store.load("s"),
            rig.store.prepare("s"),
            rig.store.readFrom("s", 0),
            rig.store.append("s", [titleAt(1)]),
            rig.store.delete("s"),
          ]);
          expect(outcomes).toEqual(Array<string>(6).fill("not-found"));
          expect((await rig.store.listSnapshots()).items).toEqual([{ id: "other", revision: other }]);
        }
      }),
    );

    test(
      "an open session is not deleted",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(title(0));
        expect(await rejectionOf(rig.store.delete("s"))).toMatchObject({ code: "session-open" });
        expect((await session.log.append(title(1))).seq).toBe(1);
        await session[Symbol.asyncDispose]();
        await rig.store.delete("s");
      }),
    );

    test(
      "what was read before stays as it is",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        const snapshot = await rig.store.inspect("s");
        await rig.store.delete("s");
        expect(snapshot.log.length).toBe(3);
        expect(snapshot.log.at(1).type).toBe("user/message");
      }),
    );

    test(
      "the same id can be created again: it begins anew, and under another revision even with the same content",
      rigged(async (rig) => {
        const drafts = [title(0), userMessage("x")].map((draft, k) => ({ ...draft, time: k }));
        const seen = new Set<string>();
        for (let round = 0; round < 3; round += 1) {
          await rig.stored("s", drafts);
          const { revision, log } = await rig.store.inspect("s");
          expect(log.length).toBe(2);
          seen.add(revision);
          await rig.restart();
          await rig.store.delete("s");
        }
        expect(seen.size).toBe(3);
      }),
    );

    test(
      "an inspection from before the deletion is not taken for the new session",
      rigged(async (rig) => {
        await rig.stored("s", [
          { ...title(1), time: 0 },
          { ...title(0), time: 1 },
        ]);
        await rig.store.inspect("s");
        await rig.store.delete("s");
        await rig.stored("s", [
          { ...title(2), time: 0 },
          { ...title(0), time: 1 },
        ]);
        await using preparation = await rig.store.prepare("s");
        expect(preparation.session.log.at(0).data).toEqual({ n: 2 });
      }),
    );

    test(
      "a session that was appended to by id can be deleted at once",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const append = rig.store.append("s", [titleAt(1)]);
        const outcomes = await outcomesOf([
          append,
          rig.store.delete("s"),
          rig.store.append("s", [titleAt(2)]),
        ]);
        expect(outcomes.slice(1)).toEqual(["ok", "not-found"]);
        expect(["ok", "not-found"]).toContain(outcomes[0] ?? "");
        expect((await rig.store.list()).items).toEqual([]);
      }),
    );
  });
}
