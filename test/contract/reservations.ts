import { describe, expect, test } from "bun:test";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { headerOf } from "./rig.ts";
import { deltas, outcomesOf, rejectionOf, title, titleAt } from "./support.ts";

/** One Session at a time writes an id: prepare reserves it, publish keeps it, disposing gives it back. */
export function reservations({ rigged, needing }: Contract): void {
  describe("reserving a session", () => {
    test(
      "a second reservation is refused until the first is given back",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const first = await rig.store.prepare("s");
        expect(await rejectionOf(rig.store.prepare("s"))).toMatchObject({ code: "session-open" });
        expect(await rejectionOf(rig.store.delete("s"))).toMatchObject({ code: "session-open" });
        expect(await rejectionOf(rig.store.create(headerOf("s")))).toMatchObject({ code: "already-exists" });
        await first[Symbol.asyncDispose]();
        await using second = await rig.store.prepare("s");
        expect(second.session.log.length).toBe(1);
      }),
    );

    test(
      "of many reservations at once exactly one is made",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        const outcomes = await outcomesOf(Array.from({ length: 8 }, () => rig.store.prepare("s")));
        expect(outcomes.toSorted()).toEqual(["ok", ...Array<string>(7).fill("session-open")]);
        expect((await rig.store.inspect("s")).log.length).toBe(3);
      }),
    );

    test(
      "a published Session outlives its reservation, and frees its id when it is closed",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const preparation = await rig.store.prepare("s");
        const session = preparation.publish();
        await preparation[Symbol.asyncDispose]();
        expect(await rejectionOf(rig.store.prepare("s"))).toMatchObject({ code: "session-open" });
        expect((await session.log.append(title(1))).seq).toBe(1);
        await session[Symbol.asyncDispose]();
        await using next = await rig.store.prepare("s");
        expect(next.session.log.length).toBe(2);
      }),
    );

    test(
      "a created Session is reserved as well",
      rigged(async (rig) => {
        const session = await rig.create("s");
        expect(await rejectionOf(rig.store.prepare("s"))).toMatchObject({ code: "session-open" });
        await session.log.append(title(0));
        expect(await rejectionOf(rig.store.prepare("s"))).toMatchObject({ code: "session-open" });
        await session[Symbol.asyncDispose]();
        await using preparation = await rig.store.prepare("s");
        expect(preparation.session.log.length).toBe(1);
      }),
    );

    test(
      "recovery that was committed stays when the reservation is given back",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1)]);
        const preparation = await rig.store.prepare("s");
        expect(preparation.closers.length).toBe(1);
        await preparation[Symbol.asyncDispose]();
        expect((await rig.store.readFrom("s", 0)).map(({ type }) => type)).toEqual([
          "turn/start",
          "turn/end",
        ]);
      }),
    );

    needing("faults", "with chunk windows", () => {
      test(
        "closing a Session waits for its appends",
        rigged(
          async (rig) => {
            const session = await rig.create("s");
            const append = session.log.appendAll(deltas(3));
            await session[Symbol.asyncDispose]();
            expect(session.log.length).toBe(3);
            expect((await append).length).toBe(3);
          },
          { chunkWindowMs: 100 },
        ),
      );
    });

    test(
      "a closed Session takes no more events, so that it cannot disturb the next one",
      rigged(async (rig) => {
        const old = await rig.create("s");
        await old.log.appendAll([turnStart(1), turnEnd(1)]);
        await old[Symbol.asyncDispose]();
        expect(await rejectionOf(old.log.append(title(2)))).toMatchObject({ code: "closed" });
        await using next = await rig.store.prepare("s");
        const outcomes = await outcomesOf([old.log.append(title(2)), next.session.log.append(title(3))]);
        expect(outcomes).toEqual(["closed", "ok"]);
        expect((await rig.store.readFrom("s", 2)).map(({ data }) => data)).toEqual([{ n: 3 }]);
        expect(old.log.length).toBe(2);
      }),
    );

    test(
      "a closed Session that never stored anything stores nothing later",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session[Symbol.asyncDispose]();
        expect(await rejectionOf(session.log.append(title(0)))).toMatchObject({ code: "closed" });
        expect((await rig.store.list()).items).toEqual([]);
        expect(await rejectionOf(rig.store.append("s", [titleAt(0)]))).toMatchObject({ code: "not-found" });
      }),
    );
  });
}
