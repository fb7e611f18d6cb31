import { describe, expect, test } from "bun:test";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { inBatches } from "../fixtures/arbitraries.ts";
import { toEvents } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import type { Rig } from "./rig.ts";
import { deltas, title, titleAt } from "./support.ts";

/** Every kind of event, and runs of deltas that any cut goes through. */
const DRAFTS: readonly EventDraft[] = [
  ...allEventDrafts(),
  ...deltas(12),
  title(1),
  ...deltas(5),
  title(2),
  ...deltas(2),
].map((draft, k) => ({ ...draft, time: 9_000 + k }));
const EVENTS = toEvents(DRAFTS);

async function write(rig: Rig, id: string, sizes: readonly number[], drafts = DRAFTS): Promise<void> {
  await using session = await rig.store.create({ version: 0, id, createdAt: 1, delegationDepth: 0 });
  for (const batch of inBatches(drafts, sizes)) await session.log.appendAll(batch);
}

/** How events were grouped when they were appended shows nowhere afterwards. */
export function batches({ rigged }: Contract): void {
  describe("batches", () => {
    test(
      "cut anywhere, they give the same events",
      rigged(async (rig) => {
        const cuts = [[1], [2], [3], [7, 1], [1, 5, 2, 13], [40], [DRAFTS.length]];
        for (const sizes of cuts) await write(rig, `${sizes}`, sizes);
        await rig.restart();
        for (const sizes of cuts) {
          expect(await rig.store.readFrom(`${sizes}`, 0)).toEqual(EVENTS);
          const { log } = await rig.store.inspect(`${sizes}`);
          expect([...log.texts(0, EVENTS.length)]).toEqual(EVENTS.map((event) => JSON.stringify(event)));
        }
      }),
    );

    test(
      "every seq of a log of many small batches, with limits",
      rigged(async (rig) => {
        await write(rig, "s", [1, 3, 2, 1, 4]);
        await rig.restart();
        for (let from = 0; from <= EVENTS.length; from += 1) {
          for (const limit of [1, 5, 1_000]) {
            expect(await rig.store.readFrom("s", from, { limit })).toEqual(EVENTS.slice(from, from + limit));
          }
        }
      }),
    );

    for (const [what, drafts] of [
      ["3,000 events", Array.from({ length: 3_000 }, (_, k) => ({ ...title(k), time: k }))],
      ["3,000 deltas", deltas(3_000)],
    ] as const) {
      test(
        `${what} in one batch, and a batch of 1 behind it`,
        rigged(async (rig) => {
          await write(rig, "s", [3_000, 1], [...drafts, { ...title(-1), time: 9 }]);
          await rig.restart();
          const events: readonly SessionEvent[] = toEvents([...drafts, { ...title(-1), time: 9 }]);
          expect(await rig.store.readFrom("s", 0, { limit: 4_000 })).toEqual(events);
          for (const from of [0, 1, 999, 1_000, 2_047, 2_998, 2_999, 3_000, 3_001]) {
            expect(await rig.store.readFrom("s", from, { limit: 3 })).toEqual(events.slice(from, from + 3));
          }
          expect([...(await rig.store.inspect("s")).log]).toEqual([...events]);
        }),
      );
    }

    test(
      "one event of 2 MB is one event",
      rigged(async (rig) => {
        const text = `${"x".repeat(2_000_000)}漢字\u{1f980}\u2028\r\n\u0000"\\\ud800`;
        const large: SessionEvent = { ...titleAt(1), data: { text } };
        await rig.stored("s", [{ ...title(0), time: 0 }]);
        await rig.store.append("s", [large]);
        await rig.store.append("s", [titleAt(2)]);
        await rig.restart();
        expect(await rig.store.readFrom("s", 1, { limit: 1 })).toEqual([large]);
        expect(await rig.store.readFrom("s", 2)).toEqual([titleAt(2)]);
        const { log } = await rig.store.inspect("s");
        expect([...log.texts()]).toEqual(
          [titleAt(0), large, titleAt(2)].map((event) => JSON.stringify(event)),
        );
      }),
    );
  });
}
