import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../src/session/events.ts";
import { HoldfastError } from "../../src/store/errors.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { toEvents, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { headerOf } from "./rig.ts";
import { rejectionOf } from "./support.ts";

const TITLE: EventDraft = { type: "session/title", data: { title: "x" } };

/** Creating sessions, and what is there after the first appends. */
export function createAndAppend({ rigged }: Contract): void {
  describe("create and append", () => {
    test(
      "every kind of event is there again after a restart: texts, events and projections",
      rigged(async (rig) => {
        const drafts = allEventDrafts().map((draft, k) => ({ time: 1_000 + k, ...draft }));
        const events = toEvents(drafts);
        const session = await rig.create("all");
        for (const draft of drafts) await session.log.append(draft);
        expectHistory({ log: session.log, projections: session.projections }, events, "all");
        await rig.restart();
        expectHistory(await rig.store.inspect("all"), events, "all");
        expectHistory(await rig.store.load("all"), events, "all");
        const { session: resumed } = await rig.resume("all");
        expectHistory({ log: resumed.log, projections: resumed.projections }, events, "all");
      }),
    );

    test(
      "data that looks like an envelope, or like a storage record, is data",
      rigged(async (rig) => {
        const envelope = { type: "x/y", seq: 0, sourceEventSeqs: [0, 1, 2, 3, 4], surfaceOp: "append" };
        const lookalikes: unknown[] = [
          envelope,
          { a: 1, sourceEventSeqs: [0, 1, 2, 3, 4], surfaceOp: { op: "replace", start: 0, end: 1 } },
          { a: 1, sourceEventSeqs: [100, 200, 300, 400], surfaceOp: "append" },
          JSON.stringify(envelope),
          {
            type: "text-chunks",
            seq0: 0,
            time0: 0,
            data: { turn: 1, step: 1, index: 0, dt: [], texts: ["a"] },
          },
        ];
        const drafts = [0, 1, 2, 3, 4, ...lookalikes].map((data, k): EventDraft => {
          return { type: "session/title", time: k, data };
        });
        const message = {
          id: "m",
          role: "user" as const,
          content: [],
          source: { kind: "user", extra: envelope },
          extra: envelope,
        };
        drafts.push({ type: "user/message", time: 10, data: message, surfaceOp: "append" });
        await rig.stored("s", drafts);
        await rig.restart();
        expectHistory(await rig.store.inspect("s"), toEvents(drafts), "s");
        expect(await rig.store.readFrom("s", 5)).toEqual(toEvents(drafts).slice(5));
      }),
    );

    test(
      "an append returns the event with its seq and the clock's time, frozen",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const first = await session.log.append(TITLE);
        const second = await session.log.append({ ...TITLE, time: 5 });
        expect([first.seq, second.seq, second.time]).toEqual([0, 1, 5]);
        expect(first.time).toBeGreaterThanOrEqual(1_700_000_000_000);
        expect(Object.isFrozen(first) && Object.isFrozen(first.data)).toBe(true);
        expect(session.log.at(0)).toEqual(first);
      }),
    );

    test(
      "time may stand still or run backwards: order is seq",
      rigged(async (rig) => {
        const session = await rig.create("s");
        for (const time of [9, 9, 3, 0, 100]) await session.log.append({ ...TITLE, time });
        await rig.restart();
        const { log } = await rig.store.inspect("s");
        expect([...log].map(({ seq, time }) => [seq, time])).toEqual([
          [0, 9],
          [1, 9],
          [2, 3],
          [3, 0],
          [4, 100],
        ]);
      }),
    );

    test(
      "a session that was only created is not listed, cannot be read and leaves nothing",
      rigged(async (rig) => {
        await rig.create("never");
        expect(await rig.store.list()).toEqual({ items: [] });
        expect(await rig.store.listSnapshots()).toEqual({ items: [] });
        expect(await rejectionOf(rig.store.inspect("never"))).toMatchObject({ code: "not-found" });
        expect(await rig.store.readFrom("never", 0)).toEqual([]);
        await rig.restart();
        expect(await rig.store.list()).toEqual({ items: [] });
        expect(await rejectionOf(rig.store.readFrom("never", 0))).toMatchObject({ code: "not-found" });
        expect(await rejectionOf(rig.store.delete("never"))).toMatchObject({ code: "not-found" });
        const again = await rig.create("never");
        expect((await again.log.append(TITLE)).seq).toBe(0);
      }),
    );

    test(
      "a session is listed with its first event",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(userMessage("hello"));
        await rig.restart();
        expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      }),
    );

    test(
      "an id that is stored, open or registered cannot be created again",
      rigged(async (rig) => {
        const open = await rig.create("open");
        expect(await rejectionOf(rig.store.create(headerOf("open")))).toMatchObject({
          code: "already-exists",
        });
        await open.log.append(TITLE);
        expect(await rejectionOf(rig.store.create(headerOf("open")))).toMatchObject({
          code: "already-exists",
        });
        await rig.restart();
        expect(await rejectionOf(rig.store.create(headerOf("open")))).toMatchObject({
          code: "already-exists",
        });
        expect((await rig.store.inspect("open")).log.length).toBe(1);
      }),
    );

    test(
      "two creations of one id at once: one of them wins",
      rigged(async (rig) => {
        const outcomes = await Promise.allSettled([rig.create("s"), rig.create("s")]);
        expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      }),
    );

    test(
      "a header that is malformed is refused and registers nothing",
      rigged(async (rig) => {
        expect(await rejectionOf(rig.store.create(headerOf("s", { createdAt: -1 })))).toBeInstanceOf(
          HoldfastError,
        );
        expect(await rejectionOf(rig.store.create(headerOf("")))).toBeInstanceOf(HoldfastError);
        const session = await rig.create("s");
        expect((await session.log.append(TITLE)).seq).toBe(0);
      }),
    );
  });
}
