import { expect, test } from "bun:test";
import { AlreadyExistsError, StorageFailedError, StorageFullError } from "../../src/store/errors.ts";
import { replacing, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { outcomesOf, rejectionOf, title, titleAt } from "./support.ts";

const FULL = new StorageFullError({ path: "/full" });

/** A commit that fails leaves memory and disk as they were, and the next append goes on without a gap. */
export function failures({ rigged, needing }: Contract): void {
  needing("faults", "failed commits", () => {
    test(
      "a failed commit never shows, takes what is queued behind it along, and the next append leaves no gap",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const first = await session.log.append(title(0));
        const revision = (await rig.store.inspect("s")).revision;
        let told = 0;
        using _ = session.log.observe(() => {
          told += 1;
        });

        const hold = rig.faults.hold("appendBatch");
        rig.faults.fail("appendBatch", { error: FULL });
        const failing: Array<Promise<unknown>> = [
          session.log.append(title(1)),
          session.log.appendAll([title(2), title(3)]),
        ];
        await hold.reached;
        failing.push(session.log.append(title(4)), rig.store.append("s", [titleAt(5)]));
        hold.release();
        expect(await outcomesOf(failing)).toEqual(Array<string>(4).fill("storage-full"));
        expect(told).toBe(0);
        expectHistory({ log: session.log, projections: session.projections }, [first], "s");
        expect(await rig.store.readFrom("s", 0)).toEqual([first]);
        expect((await rig.store.inspect("s")).revision).toBe(revision);

        const next = await session.log.append(title(5));
        expect(next.seq).toBe(1);
        await rig.restart();
        expectHistory(await rig.store.inspect("s"), [first, next], "s");
      }),
    );

    test(
      "whichever write below it fails, what is appended together is there whole or not at all",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        for (const call of [1, 2, 3]) {
          const { length } = await rig.store.readFrom("s", 0);
          rig.faults.fail("appendBatch", { error: FULL, call });
          const events = Array.from({ length: 10 }, (_, k) => titleAt(length + k));
          const [outcome] = await outcomesOf([rig.store.append("s", events)]);
          expect(["ok", "storage-full"]).toContain(outcome ?? "");
          const added = (await rig.store.readFrom("s", 0)).length - length;
          expect(added).toBe(outcome === "ok" ? 10 : 0);
        }
        await rig.restart();
        expect(((await rig.store.inspect("s")).log.length - 1) % 10).toBe(0);
      }),
    );

    test(
      "a message that was lost is not on the surface that replacements are checked against",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(userMessage("kept"));
        rig.faults.fail("appendBatch", { error: FULL });
        expect(await outcomesOf([session.log.append(userMessage("lost"))])).toEqual(["storage-full"]);
        await session.log.append(title(1));
        const replacement = replacing(userMessage("summary"), 0, 1, [0, 1]);
        expect(await outcomesOf([session.log.append(replacement)])).toEqual(["invalid-event"]);
        await session.log.append(replacing(userMessage("summary"), 0, 0, [0]));
        expect(session.projections.surface.seqs).toEqual([2]);
      }),
    );

    test(
      "other sessions lose what they had queued, and nothing else",
      rigged(async (rig) => {
        const a = await rig.create("a");
        const b = await rig.create("b");
        await b.log.append(title(0));
        const hold = rig.faults.hold("appendBatch");
        rig.faults.fail("appendBatch", { error: FULL });
        const failing = [a.log.append(title(0))];
        await hold.reached;
        failing.push(b.log.append(title(1)), b.log.append(title(2)));
        hold.release();
        expect(await outcomesOf(failing)).toEqual(["storage-full", "storage-full", "storage-full"]);
        expect(
          (await Promise.all([a.log.append(title(0)), b.log.append(title(1))])).map(({ seq }) => seq),
        ).toEqual([0, 1]);
        await rig.restart();
        expect((await rig.store.inspect("a")).log.length).toBe(1);
        expect((await rig.store.inspect("b")).log.length).toBe(2);
      }),
    );

    test(
      "a session whose first commit failed is not stored, and is by its next",
      rigged(async (rig) => {
        const session = await rig.create("s");
        rig.faults.fail("appendBatch", { error: FULL });
        expect(await rejectionOf(session.log.append(title(0)))).toMatchObject({ code: "storage-full" });
        expect((await rig.store.list()).items).toEqual([]);
        expect((await session.log.append(title(0))).seq).toBe(0);
        await rig.restart();
        expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      }),
    );

    test(
      "an append by id that failed is gone as well",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        rig.faults.fail("appendBatch", { error: FULL });
        expect(await rejectionOf(rig.store.append("s", [titleAt(1)]))).toMatchObject({
          code: "storage-full",
        });
        expect((await rig.store.inspect("s")).log.length).toBe(1);
        await rig.store.append("s", [titleAt(1)]);
        expect((await rig.store.inspect("s")).log.length).toBe(2);
      }),
    );

    test(
      "an error that is not typed is a failed storage",
      rigged(async (rig) => {
        const session = await rig.create("s");
        rig.faults.fail("appendBatch", { error: new TypeError("boom") });
        expect(await rejectionOf(session.log.append(title(0)))).toMatchObject({ code: "storage-failed" });
      }),
    );

    test(
      "health is degraded from a failed commit until one works",
      rigged(async (rig) => {
        const session = await rig.create("s");
        expect(await rig.store.health()).toMatchObject({ writable: true });
        rig.faults.fail("appendBatch", { error: FULL });
        expect(await rejectionOf(session.log.append(title(0)))).toMatchObject({ code: "storage-full" });
        expect(await rig.store.health()).toMatchObject({ writable: false, problem: "storage-full" });
        await session.log.append(title(0));
        expect(await rig.store.health()).toMatchObject({ writable: true });
        rig.faults.fail("checkWritable", { error: new StorageFailedError("gone") });
        expect(await rig.store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
      }),
    );

    test(
      "a commit whose answer was lost: the next append is a conflict, never a fork, and resuming finds it",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const { session } = await rig.resume("s");
        rig.faults.fail("appendBatch", { error: new StorageFailedError("no answer"), when: "after" });
        expect(await rejectionOf(session.log.append(title(1)))).toMatchObject({ code: "storage-failed" });
        expect(session.log.length).toBe(1);
        expect(await rejectionOf(session.log.append(title(2)))).toMatchObject({ code: "sequence-conflict" });
        await rig.restart();
        const { session: again } = await rig.resume("s");
        expect([...again.log].map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }]);
        expect((await again.log.append(title(2))).seq).toBe(2);
      }),
    );

    test(
      "after a lost answer, appends by id go on from what is stored, without opening the store again",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        rig.faults.fail("appendBatch", { error: new StorageFailedError("no answer"), when: "after" });
        const { store } = rig;
        expect(await rejectionOf(store.append("s", [titleAt(1)]))).toMatchObject({ code: "storage-failed" });
        expect(await rejectionOf(store.append("s", [titleAt(1)]))).toMatchObject({
          code: "sequence-conflict",
        });
        await store.append("s", [titleAt(2)]);
        expect((await store.inspect("s")).log.length).toBe(3);
      }),
    );

    test(
      "a lost answer to the very first commit does not make a second session",
      rigged(async (rig) => {
        const session = await rig.create("s");
        rig.faults.fail("appendBatch", { error: new StorageFailedError("no answer"), when: "after" });
        expect(await rejectionOf(session.log.append(title(0)))).toMatchObject({ code: "storage-failed" });
        expect(await rejectionOf(session.log.append(title(0)))).toBeInstanceOf(AlreadyExistsError);
        await rig.restart();
        expect((await rig.store.list()).items.length).toBe(1);
        expect((await rig.store.inspect("s")).log.length).toBe(1);
      }),
    );

    test(
      "another writer behind the store's back makes a conflict for that session alone",
      rigged(async (rig) => {
        const a = await rig.create("a");
        const b = await rig.create("b");
        await Promise.all([a.log.append(title(0)), b.log.append(title(0))]);
        const text = JSON.stringify({ type: "session/title", seq: 1, time: 0, data: "foreign" });
        const record = { seq: 1, count: 1, type: "session/title", time: 0, text };
        await rig.faults.inner.appendBatch([{ id: "a", expectedSeq: 1, records: [record] }]);
        const outcomes = await outcomesOf([
          a.log.append(title(1)),
          b.log.append(title(1)),
          a.log.append(title(2)),
        ]);
        expect(outcomes).toEqual(["sequence-conflict", "ok", "sequence-conflict"]);
        expect([a.log.length, b.log.length]).toEqual([1, 2]);
        await rig.restart();
        expect((await rig.store.inspect("a")).log.at(1).data).toBe("foreign");
        expect((await rig.store.inspect("a")).log.length).toBe(2);
      }),
    );

    test(
      "a conflict takes what that session has queued behind it along, and nothing of others",
      rigged(async (rig) => {
        const a = await rig.create("a");
        const b = await rig.create("b");
        await a.log.append(title(0));
        const text = JSON.stringify(titleAt(1));
        const record = { seq: 1, count: 1, type: "session/title", time: 0, text };
        await rig.faults.inner.appendBatch([{ id: "a", expectedSeq: 1, records: [record] }]);
        const hold = rig.faults.hold("appendBatch");
        const appends = [a.log.append(title(1))];
        await hold.reached;
        appends.push(b.log.append(title(0)), a.log.append(title(2)), b.log.append(title(1)));
        hold.release();
        expect(await outcomesOf(appends)).toEqual(["sequence-conflict", "ok", "sequence-conflict", "ok"]);
        await b.log.append(title(2));
        expect([a.log.length, b.log.length]).toEqual([1, 3]);
        expect((await rig.store.readFrom("a", 0)).length).toBe(2);
      }),
    );

    test(
      "a recovery that could not be saved reserves nothing, and works later with the same closers",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        const { closers } = await rig.store.inspect("s");
        for (const method of ["prepare", "load"] as const) {
          rig.faults.fail("commitRepair", { error: FULL });
          expect(await rejectionOf(rig.store[method]("s"))).toMatchObject({ code: "storage-full" });
          expect((await rig.store.inspect("s")).closers).toEqual(closers);
        }
        const preparation = await rig.resume("s");
        expect(preparation.closers).toEqual(closers);
        await rig.restart();
        expect((await rig.store.inspect("s")).log.length).toBe(3);
      }),
    );

    test(
      "a read that fails half-way gives no half session and reserves nothing",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        for (const method of ["inspect", "load", "prepare"] as const) {
          for (const after of [0, 1]) {
            rig.faults.breakPages(new StorageFailedError("unreadable"), after);
            expect(await rejectionOf(rig.store[method]("s"))).toMatchObject({ code: "storage-failed" });
          }
        }
        await using preparation = await rig.store.prepare("s");
        expect(preparation.session.log.length).toBe(1);
      }),
    );

    test(
      "a deletion that failed leaves the session",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        rig.faults.fail("delete", { error: new StorageFailedError("read-only") });
        expect(await rejectionOf(rig.store.delete("s"))).toMatchObject({ code: "storage-failed" });
        expect((await rig.store.inspect("s")).log.length).toBe(1);
        await rig.store.delete("s");
      }),
    );
  });
}
