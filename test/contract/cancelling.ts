import { describe, expect, test } from "bun:test";
import type { Contract } from "./contract.ts";
import { headerOf } from "./rig.ts";
import { drain } from "./streaming.ts";
import { rejectionOf, title, titleAt } from "./support.ts";

const REASON = new Error("the client went away");

/** A signal ends the wait with its reason; it never undoes a commit. */
export function cancelling({ rigged, needing }: Contract): void {
  describe("abort signals", () => {
    test(
      "a signal that fired already: nothing is begun",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const before = await rig.store.listSnapshots();
        const signal = AbortSignal.abort(REASON);
        const { store } = rig;
        expect(await rejectionOf(store.create(headerOf("new"), { signal }))).toBe(REASON);
        expect(await rejectionOf(store.append("s", [titleAt(1)], { signal }))).toBe(REASON);
        expect(await rejectionOf(store.prepare("s", { signal }))).toBe(REASON);
        expect(await rejectionOf(store.load("s", { signal }))).toBe(REASON);
        expect(await rejectionOf(store.inspect("s", { signal }))).toBe(REASON);
        expect(await rejectionOf(store.readFrom("s", 0, { signal }))).toBe(REASON);
        expect(await rejectionOf(store.stream("s", { signal }))).toBe(REASON);
        const { records } = await drain(await store.stream("s"));
        const header = JSON.stringify(headerOf("new"));
        expect(await rejectionOf(store.importRecords(header, records, { signal }))).toBe(REASON);
        expect(await rejectionOf(store.list({ signal }))).toBe(REASON);
        expect(await rejectionOf(store.listSnapshots({ signal }))).toBe(REASON);
        expect(await rejectionOf(store.delete("s", { signal }))).toBe(REASON);
        expect(await store.listSnapshots()).toEqual(before);
        await using preparation = await store.prepare("s");
        expect(preparation.session.log.length).toBe(1);
        await using created = await store.create(headerOf("new"));
        expect(created.log.length).toBe(0);
      }),
    );
  });

  needing("faults", "abort signals while waiting", () => {
    test(
      "an append whose commit is on its way: the wait ends, the commit does not",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const hold = rig.faults.hold("appendBatch");
        const abort = new AbortController();
        const append = rig.store.append("s", [titleAt(1)], { signal: abort.signal });
        await hold.reached;
        abort.abort(REASON);
        expect(await rejectionOf(append)).toBe(REASON);
        hold.release();
        await rig.store.append("s", [titleAt(2)]);
        expect((await rig.store.inspect("s")).log.length).toBe(3);
      }),
    );

    test(
      "an append that waits for room is not made",
      rigged(
        async (rig) => {
          await rig.stored("s", [title(0)]);
          await rig.store.append("s", [titleAt(1)]);
          const hold = rig.faults.hold("appendBatch");
          const other = await rig.create("other");
          const full = other.log.append(title(0));
          await hold.reached;
          const abort = new AbortController();
          const append = rig.store.append("s", [titleAt(2)], { signal: abort.signal });
          abort.abort(REASON);
          expect(await rejectionOf(append)).toBe(REASON);
          hold.release();
          await full;
          expect((await rig.store.readFrom("s", 0)).length).toBe(2);
        },
        { maxEvents: 1 },
      ),
    );

    for (const method of ["prepare", "load", "inspect", "delete"] as const) {
      test(
        `${method} behind a slow operation of the same session stops waiting at once and changes nothing`,
        rigged(async (rig) => {
          await rig.stored("s", [title(0)]);
          const hold = rig.faults.hold("readStored");
          const slow = rig.store.inspect("s");
          await hold.reached;
          const abort = new AbortController();
          const waiting = rig.store[method]("s", { signal: abort.signal });
          abort.abort(REASON);
          expect(await rejectionOf(waiting)).toBe(REASON);
          hold.release();
          expect((await slow).log.length).toBe(1);
          await using preparation = await rig.store.prepare("s");
          expect(preparation.session.log.length).toBe(1);
        }),
      );
    }

    test(
      "operations behind one that was cancelled keep their order",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const hold = rig.faults.hold("readStored");
        const slow = rig.store.inspect("s");
        await hold.reached;
        const abort = new AbortController();
        const cancelled = rig.store.inspect("s", { signal: abort.signal });
        const deleting = rig.store.delete("s");
        abort.abort(REASON);
        expect(await rejectionOf(cancelled)).toBe(REASON);
        expect(rig.faults.calls("delete")).toBe(0);
        hold.release();
        await Promise.all([slow, deleting]);
        expect(await rejectionOf(rig.store.inspect("s"))).toMatchObject({ code: "not-found" });
      }),
    );
  });
}
