import { describe, expect, test } from "bun:test";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { headerOf } from "./rig.ts";
import { drain } from "./streaming.ts";
import { deltas, outcomesOf, rejectionOf, settle, title, titleAt } from "./support.ts";

const WINDOW = { chunkWindowMs: 100 };

/** Closing writes what waits, and refuses everything after it. */
export function closing({ rigged, needing, capabilities }: Contract): void {
  describe("closing", () => {
    test(
      "everything after it is refused as closed",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const open = await rig.create("open");
        await open.log.append(title(0));
        const { store } = rig;
        const { records } = await drain(await store.stream("s"));
        await store.close();
        const outcomes = await outcomesOf([
          store.create(headerOf("new")),
          store.append("s", [titleAt(1)]),
          store.append("open", [titleAt(1)]),
          store.append("s", []),
          store.prepare("s"),
          store.load("s"),
          store.inspect("s"),
          store.inspect("open"),
          store.readFrom("s", 0),
          store.stream("s"),
          store.importRecords(JSON.stringify(headerOf("new")), records),
          store.list(),
          store.listSnapshots(),
          store.delete("s"),
          open.log.append(title(1)),
          open.log.writer().append(title(1)),
        ]);
        expect(outcomes).toEqual(outcomes.map(() => "closed"));
        expect(await store.health()).toMatchObject({ writable: false, problem: "closed" });
      }),
    );

    test(
      "what is in memory stays readable",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(userMessage("x"));
        await rig.store.close();
        expect(session.log.at(0).type).toBe("user/message");
        expect(session.projections.surface.seqs).toEqual([0]);
        await session[Symbol.asyncDispose]();
      }),
    );

    test(
      "it is safe to close twice, and at once",
      rigged(async (rig) => {
        await Promise.all([rig.store.close(), rig.store.close()]);
        await rig.store.close();
        await rig.store[Symbol.asyncDispose]();
      }),
    );

    test(
      "deltas that wait for their window are written first",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const appends = outcomesOf(deltas(5).map((draft) => session.log.append(draft)));
        await rig.store.close();
        expect(await appends).toEqual(Array<string>(5).fill("ok"));
        expect(session.log.length).toBe(5);
        if (!capabilities.durable) return;
        await rig.restart();
        expect((await rig.store.readFrom("s", 0)).length).toBe(5);
      }, WINDOW),
    );

    test(
      "what is under way ends: it is done, or refused as closed",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        await rig.stored("t", [title(0)]);
        const { store } = rig;
        const underWay = outcomesOf([
          store.append("t", [titleAt(1)]),
          store.inspect("s"),
          store.load("s"),
          store.prepare("s"),
          store.readFrom("t", 0),
          store.list(),
          store.listSnapshots(),
          store.delete("t"),
          store.health(),
        ]);
        await store.close();
        for (const outcome of await underWay) expect(["ok", "closed"]).toContain(outcome);
      }),
    );
  });

  needing("faults", "closing while something is slow", () => {
    test(
      "it waits for the commit under way and what is queued behind it",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const hold = rig.faults.hold("appendBatch");
        const appends = [session.log.append(title(0))];
        await hold.reached;
        appends.push(session.log.append(title(1)));
        const closing = rig.store.close();
        const late = outcomesOf([session.log.append(title(2))]);
        await settle();
        expect(Bun.peek.status(closing)).toBe("pending");
        hold.release();
        await closing;
        expect(await outcomesOf(appends)).toEqual(["ok", "ok"]);
        expect(await late).toEqual(["closed"]);
        expect(session.log.length).toBe(2);
      }),
    );

    for (const method of ["inspect", "load", "prepare"] as const) {
      test(
        `a slow ${method} ends as done or closed`,
        rigged(async (rig) => {
          await rig.stored("s", [turnStart(1)]);
          const hold = rig.faults.hold("readStored");
          const slow = outcomesOf([rig.store[method]("s")]);
          await hold.reached;
          const closing = rig.store.close();
          await settle();
          hold.release();
          await closing;
          expect(["ok", "closed"]).toContain((await slow)[0] ?? "");
        }),
      );
    }

    test(
      "a last commit that fails is told to whoever waits for it, and the store still closes",
      rigged(async (rig) => {
        const session = await rig.create("s");
        rig.faults.fail("appendBatch", { error: new RangeError("boom") });
        const append = outcomesOf([session.log.appendAll(deltas(3))]);
        await rig.store.close();
        expect(await append).toEqual(["storage-failed"]);
        expect(session.log.length).toBe(0);
      }, WINDOW),
    );
  });

  needing("crossProcessLock", "one writer", () => {
    test(
      "a place is opened by one store at a time, and again once that one is closed",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        expect(await rejectionOf(rig.openAgain())).toMatchObject({ code: "locked" });
        await rig.store.append("s", [titleAt(1)]);
        await rig.store.close();
        await using next = await rig.openAgain();
        expect((await next.readFrom("s", 0)).length).toBe(2);
      }),
    );
  });
}
