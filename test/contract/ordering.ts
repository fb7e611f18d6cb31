import { describe, expect, test } from "bun:test";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { textDelta, toEvents, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import type { Rig } from "./rig.ts";
import { rejectionOf } from "./support.ts";

const AT = { turn: 1, step: 1 };
const DRAFTS: readonly EventDraft[] = [userMessage("a"), textDelta(AT, "b"), userMessage("c")].map(
  (draft, k) => ({
    ...draft,
    time: k,
  }),
);
const EVENTS = toEvents(DRAFTS);

function at(seq: number): SessionEvent {
  return { type: "session/title", seq, time: 0, data: { seq } };
}

async function expectUnchanged(rig: Rig, events: readonly SessionEvent[]): Promise<void> {
  expectHistory(await rig.store.inspect("s"), events, "s");
  await rig.restart();
  expectHistory(await rig.store.inspect("s"), events, "s");
}

/** Seqs are contiguous, and a writer that does not know the end is refused. */
export function ordering({ rigged }: Contract): void {
  describe("expected seq", () => {
    const refused: ReadonlyArray<readonly [string, readonly SessionEvent[]]> = [
      ["a gap before the batch", [at(4)]],
      ["a seq that is stored already", [at(2)]],
      ["a cursor far behind", [at(0), at(1)]],
      ["a gap inside the batch", [at(3), at(5)]],
      ["the same seq twice in the batch", [at(3), at(3)]],
      ["a batch in the wrong order", [at(4), at(3)]],
    ];
    for (const [what, events] of refused) {
      test(
        `${what} is a conflict, and nothing changes`,
        rigged(async (rig) => {
          await rig.stored("s", DRAFTS);
          const before = await rig.store.listSnapshots();
          expect(await rejectionOf(rig.store.append("s", events))).toMatchObject({
            code: "sequence-conflict",
          });
          expect(await rig.store.listSnapshots()).toEqual(before);
          await expectUnchanged(rig, EVENTS);
          await rig.store.append("s", [at(3)]);
          await expectUnchanged(rig, [...EVENTS, at(3)]);
        }),
      );
    }

    test(
      "a conflict names what was sent and what comes next",
      rigged(async (rig) => {
        await rig.stored("s", DRAFTS);
        expect(await rejectionOf(rig.store.append("s", [at(7)]))).toMatchObject({ sent: 7, next: 3 });
      }),
    );

    test(
      "a log begins at seq 0",
      rigged(async (rig) => {
        const session = await rig.create("s");
        expect(await rejectionOf(rig.store.append("s", [at(1)]))).toMatchObject({
          code: "sequence-conflict",
        });
        expect((await rig.store.list()).items).toEqual([]);
        await rig.store.append("s", [at(0)]);
        expect(session.log.length).toBe(1);
      }),
    );

    test(
      "appending to a session that is not there is refused",
      rigged(async (rig) => {
        expect(await rejectionOf(rig.store.append("none", [at(0)]))).toMatchObject({ code: "not-found" });
        expect((await rig.store.list()).items).toEqual([]);
      }),
    );

    test(
      "an append of nothing changes nothing",
      rigged(async (rig) => {
        await rig.stored("s", DRAFTS);
        await rig.store.append("s", []);
        await expectUnchanged(rig, EVENTS);
      }),
    );

    test(
      "appends by id and by an open log share one order",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.appendAll(DRAFTS);
        await rig.store.append("s", [at(3)]);
        expect(session.log.at(3)).toEqual(at(3));
        expect(await rejectionOf(rig.store.append("s", [at(3)]))).toMatchObject({
          code: "sequence-conflict",
        });
        expect((await session.log.append({ type: "session/title", data: { seq: 4 }, time: 0 })).seq).toBe(4);
        await expectUnchanged(rig, [...EVENTS, at(3), at(4)]);
      }),
    );
  });
}
