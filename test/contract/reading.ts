import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../src/session/events.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { textDelta, toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { deltas, rejectionOf, title, titleAt } from "./support.ts";

/** Packed runs of different lengths between single events. */
const MIXED: readonly EventDraft[] = [
  title(0),
  ...deltas(7),
  title(1),
  ...deltas(2),
  textDelta({ turn: 1, step: 2 }, "other step"),
  ...deltas(3),
].map((draft, k) => ({ ...draft, time: 2_000 + k }));
const EVENTS = toEvents(MIXED);

/** Reading whole sessions and parts of them. Reading writes nothing. */
export function reading({ rigged, needing }: Contract): void {
  describe("reading from a seq", () => {
    test(
      "every seq, also inside packed runs, at the end and beyond it",
      rigged(async (rig) => {
        await rig.stored("s", MIXED);
        await rig.restart();
        for (let from = 0; from <= EVENTS.length + 2; from += 1) {
          expect(await rig.store.readFrom("s", from)).toEqual(EVENTS.slice(from));
        }
      }),
    );

    test(
      "seqs far outside the log give what is there, and nothing of another session",
      rigged(async (rig) => {
        for (const id of ["before", "s", "after"]) await rig.stored(id, MIXED);
        for (const from of [-1, -5_000_000_000, Number.MIN_SAFE_INTEGER]) {
          expect(await rig.store.readFrom("s", from)).toEqual(EVENTS);
        }
        for (const from of [2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 33, Number.MAX_SAFE_INTEGER]) {
          expect(await rig.store.readFrom("s", from)).toEqual([]);
        }
      }),
    );

    test(
      "every limit from every seq",
      rigged(async (rig) => {
        await rig.stored("s", MIXED);
        for (let from = 0; from <= EVENTS.length; from += 1) {
          for (const limit of [0, 1, 2, 3, 8, EVENTS.length, 1_000_000, Number.POSITIVE_INFINITY]) {
            expect(await rig.store.readFrom("s", from, { limit })).toEqual(EVENTS.slice(from, from + limit));
          }
        }
      }),
    );

    test(
      "a log is paged by asking for the seq after the last one seen",
      rigged(async (rig) => {
        await rig.stored("s", allEventDrafts());
        const whole = [...(await rig.store.inspect("s")).log];
        const paged = [];
        for (;;) {
          const page = await rig.store.readFrom("s", paged.length, { limit: 7 });
          if (page.length === 0) break;
          paged.push(...page);
        }
        expect(paged).toEqual(whole);
      }),
    );

    test(
      "events that are read are frozen",
      rigged(async (rig) => {
        await rig.stored("s", MIXED);
        for (const event of await rig.store.readFrom("s", 0)) {
          expect(Object.isFrozen(event) && Object.isFrozen(event.data)).toBe(true);
        }
      }),
    );

    test(
      "an open Turn is read as it is stored, without closers",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        expect((await rig.store.inspect("s")).log.length).toBe(3);
        expect((await rig.store.readFrom("s", 0)).length).toBe(2);
        expect(await rig.store.readFrom("s", 2)).toEqual([]);
      }),
    );

    test(
      "a session that is not there is not found",
      rigged(async (rig) => {
        for (const read of ["inspect", "load", "prepare"] as const) {
          expect(await rejectionOf(rig.store[read]("none"))).toMatchObject({ code: "not-found" });
        }
        expect(await rejectionOf(rig.store.readFrom("none", 0))).toMatchObject({ code: "not-found" });
      }),
    );
  });

  describe("inspecting", () => {
    test(
      "a snapshot never changes when the session goes on",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x"), turnEnd(1)]);
        const before = await rig.store.inspect("s");
        const events = [...before.log];
        const { session } = await rig.resume("s");
        const open = await rig.store.inspect("s");
        await session.log.appendAll([turnStart(2), userMessage("y"), ...deltas(5)]);
        await rig.restart();
        await rig.store.load("s");
        expectHistory(before, events, "s");
        expectHistory(open, events, "s");
      }),
    );

    test(
      "inspecting an open session shows what is durable, without closers for the Turn that runs",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const events = await session.log.appendAll([turnStart(1), userMessage("x")]);
        for (const method of ["inspect", "load"] as const) {
          const snapshot = await rig.store[method]("s");
          expect(snapshot.closers).toEqual([]);
          expectHistory(snapshot, events, "s");
        }
      }),
    );

    needing("faults", "with counted calls", () => {
      test(
        "reading writes nothing",
        rigged(async (rig) => {
          await rig.stored("s", [turnStart(1), userMessage("x"), ...deltas(4)]);
          const { writes } = rig.faults;
          await rig.store.inspect("s");
          await rig.store.readFrom("s", 1);
          await rig.store.list();
          await rig.store.listSnapshots();
          await rig.store.health();
          expect(await rejectionOf(rig.store.inspect("none"))).toMatchObject({ code: "not-found" });
          expect(rig.faults.writes).toBe(writes);
        }),
      );

      test(
        "resuming uses an earlier inspection again while nothing changed, and only then",
        rigged(async (rig) => {
          await rig.stored("s", [title(0)]);
          await rig.store.inspect("s");
          const reads = rig.faults.calls("readStored");
          await using first = await rig.store.prepare("s");
          expect(rig.faults.calls("readStored")).toBe(reads);
          await first[Symbol.asyncDispose]();

          await rig.store.inspect("s");
          await rig.store.append("s", [titleAt(1)]);
          await using second = await rig.store.prepare("s");
          expect(second.session.log.length).toBe(2);
        }),
      );
    });

    test(
      "the revision stays while nothing changes, and changes with every append",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const seen = new Set<string>();
        for (let seq = 1; seq <= 5; seq += 1) {
          const { revision } = await rig.store.inspect("s");
          expect((await rig.store.inspect("s")).revision).toBe(revision);
          expect((await rig.store.load("s")).revision).toBe(revision);
          await rig.restart();
          expect((await rig.store.listSnapshots()).items).toEqual([{ id: "s", revision }]);
          seen.add(revision);
          await rig.store.append("s", [titleAt(seq)]);
        }
        expect(seen.size).toBe(5);
      }),
    );

    test(
      "an open session has the revision of what is stored",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(title(0));
        const open = (await rig.store.inspect("s")).revision;
        expect((await rig.store.listSnapshots()).items).toEqual([{ id: "s", revision: open }]);
        await rig.restart();
        const { session: resumed } = await rig.resume("s");
        expect((await rig.store.inspect("s")).revision).toBe(open);
        await resumed.log.append(title(1));
        expect((await rig.store.listSnapshots()).items[0]?.revision).toBe(
          (await rig.store.inspect("s")).revision,
        );
      }),
    );
  });
}
