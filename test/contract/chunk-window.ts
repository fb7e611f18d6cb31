import { expect, test } from "bun:test";
import { toEvents, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import type { Rig } from "./rig.ts";
import { deltas, settle } from "./support.ts";

const WINDOW = { chunkWindowMs: 100 };

/** The first seq and the number of events of each record that the last commit wrote. */
function lastCommit(rig: Rig): Array<readonly [number, number]> {
  const batches = rig.faults.commits.at(-1) ?? [];
  return batches.flatMap(({ records }) => records.map(({ seq, count }) => [seq, count] as const));
}

/** Streaming deltas wait a moment for company, so that they pack well; nothing else waits. */
export function chunkWindow({ rigged, needing }: Contract): void {
  needing("faults", "chunk window", () => {
    test(
      "deltas wait for the window, and then pack into one record",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const appends = deltas(100).map((draft) => session.log.append(draft));
        await settle();
        expect([rig.faults.calls("appendBatch"), session.log.length, rig.time.waiting]).toEqual([0, 0, 1]);
        rig.time.fire();
        await Promise.all(appends);
        expect(lastCommit(rig)).toEqual([[0, 100]]);
        await rig.restart();
        expectHistory(await rig.store.inspect("s"), toEvents(deltas(100)), "s");
      }, WINDOW),
    );

    test(
      "any other event flushes at once and takes the deltas before it along, in order",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const waiting = deltas(5).map((draft) => session.log.append(draft));
        await settle();
        expect(rig.faults.calls("appendBatch")).toBe(0);
        await session.log.append({ ...userMessage("now"), time: 5 });
        await Promise.all(waiting);
        expect(lastCommit(rig)).toEqual([
          [0, 5],
          [5, 1],
        ]);
        expect(rig.time.waiting).toBe(0);
        const events = toEvents([...deltas(5), { ...userMessage("now"), time: 5 }]);
        expectHistory({ log: session.log, projections: session.projections }, events, "s");
      }, WINDOW),
    );

    test(
      "another session's event takes them along as well",
      rigged(async (rig) => {
        const a = await rig.create("a");
        const b = await rig.create("b");
        const waiting = deltas(4).map((draft) => a.log.append(draft));
        await b.log.append(userMessage("now"));
        await Promise.all(waiting);
        expect(rig.faults.calls("appendBatch")).toBe(1);
      }, WINDOW),
    );

    test(
      "deltas after a flush wait for a window of their own",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(userMessage("start"));
        const hold = rig.faults.hold("appendBatch");
        const flushed = session.log.append(userMessage("second"));
        await hold.reached;
        const waiting = deltas(3).map((draft) => session.log.append(draft));
        hold.release();
        await flushed;
        await settle();
        expect([rig.faults.calls("appendBatch"), rig.time.waiting]).toEqual([2, 1]);
        rig.time.fire();
        await Promise.all(waiting);
        expect(lastCommit(rig)).toEqual([[2, 3]]);
      }, WINDOW),
    );

    test(
      "with a window of 0 deltas never wait",
      rigged(async (rig) => {
        const session = await rig.create("s");
        for (const draft of deltas(3)) await session.log.append(draft);
        expect(rig.time.waiting).toBe(0);
        expect(rig.faults.calls("appendBatch")).toBe(3);
      }),
    );
  });
}
