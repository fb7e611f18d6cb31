import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft } from "../../src/session/events.ts";
import { arbitrarySession, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import type { Contract } from "./contract.ts";
import { closersOf, expectHistory } from "./model.ts";
import type { Rig } from "./rig.ts";

/** What happens between two batches. */
type Between = "nothing" | "restart" | "inspect" | "read";

const betweens: fc.Arbitrary<readonly Between[]> = fc.array(
  fc.constantFrom<Between>("nothing", "nothing", "nothing", "restart", "inspect", "read"),
  { minLength: 1, maxLength: 8 },
);

async function write(
  rig: Rig,
  id: string,
  drafts: readonly EventDraft[],
  sizes: readonly number[],
  steps: readonly Between[],
) {
  const events = toEvents(drafts);
  const log = (await rig.create(id)).log;
  let open = true;
  for (const [k, batch] of inBatches(drafts, sizes).entries()) {
    const from = open ? log.length : (await rig.store.readFrom(id, 0, { limit: events.length })).length;
    if (open && k % 2 === 0) await log.appendAll(batch);
    else await rig.store.append(id, events.slice(from, from + batch.length));
    const stored = events.slice(0, from + batch.length);
    switch (steps[k % steps.length]) {
      case "restart":
        await rig.restart();
        open = false;
        break;
      case "inspect":
        expectHistory(await rig.store.inspect(id), open ? stored : [...stored, ...closersOf(stored)], id);
        break;
      case "read":
        expect(await rig.store.readFrom(id, from)).toEqual(stored.slice(from));
        break;
      default:
    }
  }
  return events;
}

/** Any session, cut into any batches, with restarts anywhere, is what a plain list of its events is. */
export function properties({ rigged, capabilities }: Contract, runs: number): void {
  describe("any session", () => {
    test(
      "is equal to a plain model in memory",
      rigged(async (rig) => {
        let number = 0;
        await fc.assert(
          fc.asyncProperty(arbitrarySession(), batchSizes(), betweens, async (drafts, sizes, steps) => {
            number += 1;
            const id = `session ${number}`;
            const events = await write(rig, id, drafts, sizes, steps);
            await rig.restart();
            const closed = [...events, ...closersOf(events)];

            for (let from = 0; from <= events.length; from += 1) {
              const page = await rig.store.readFrom(id, from, { limit: 5 });
              expect(page).toEqual(events.slice(from, from + 5));
            }
            const inspected = await rig.store.inspect(id);
            expectHistory(inspected, closed, id);
            expect(inspected.closers).toEqual(closersOf(events));
            const { closers, session } = await rig.resume(id);
            expect(closers).toEqual(inspected.closers);
            expectHistory({ log: session.log, projections: session.projections }, closed, id);
            await rig.restart();
            expectHistory(await rig.store.load(id), closed, id);
            expect(await rig.store.readFrom(id, 0, { limit: closed.length })).toEqual(closed);
          }),
          { numRuns: runs },
        );
        if (capabilities.durable) expect((await rig.store.list({ limit: 1 })).items.length).toBe(1);
      }),
      60_000,
    );
  });
}
