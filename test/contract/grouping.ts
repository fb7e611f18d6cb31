import { describe, expect, test } from "bun:test";
import type { EventDraft } from "../../src/session/events.ts";
import { StorageFullError } from "../../src/store/errors.ts";
import { textDelta, toEvents, userMessage } from "../fixtures/event-drafts.ts";
import { outcomesOf } from "./failures.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import type { Rig } from "./rig.ts";

const AT = { turn: 1, step: 1 };
const WINDOW = { chunkWindowMs: 100 };

function deltas(count: number, from = 0): EventDraft[] {
  return Array.from({ length: count }, (_, k) => ({ ...textDelta(AT, `piece ${from + k} `), time: from + k }));
}

/** The first seq and the number of events of each record that the last commit wrote. */
function lastCommit(rig: Rig): Array<readonly [number, number]> {
  const batches = rig.faults.commits.at(-1) ?? [];
  return batches.flatMap(({ records }) => records.map(({ seq, count }) => [seq, count] as const));
}

/** Lets everything run that needs no outside help. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One commit serves many appends, and a producer that is ahead of the disk waits. */
export function grouping({ rigged, capabilities }: Contract): void {
  describe.skipIf(!capabilities.faults)("group commit", () => {
    test(
      "64 sessions that append at once need far fewer commits than appends",
      rigged(async (rig) => {
        const rounds = 10;
        const sessions = await Promise.all(Array.from({ length: 64 }, (_, k) => rig.create(`s${k}`)));
        await Promise.all(
          sessions.map(async ({ log }) => {
            for (let round = 0; round < rounds; round += 1) await log.append(userMessage(`${round}`));
          }),
        );
        expect(rig.faults.calls("appendBatch")).toBeLessThanOrEqual((64 * rounds) / 8);
        await rig.restart();
        for (const { id } of sessions) expect((await rig.store.inspect(id)).log.length).toBe(rounds);
      }),
    );

    test(
      "what arrives during a commit is the next commit, whole",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const hold = rig.faults.hold("appendBatch");
        const appends = [session.log.append(userMessage("first"))];
        await hold.reached;
        for (let k = 0; k < 20; k += 1) appends.push(session.log.append(userMessage(`${k}`)));
        hold.release();
        await Promise.all(appends);
        expect(rig.faults.calls("appendBatch")).toBe(2);
        expect(lastCommit(rig).length).toBe(20);
      }),
    );

    test(
      "a writer pipelines: pushes do not wait for the disk, flush does, and order is kept",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const hold = rig.faults.hold("appendBatch");
        const writer = session.log.writer();
        for (const draft of deltas(50)) await writer.push(draft);
        await hold.reached;
        expect(session.log.length).toBe(0);
        hold.release();
        await writer.flush();
        expect((await writer.append({ ...userMessage("end"), time: 50 })).seq).toBe(50);
        const events = toEvents([...deltas(50), { ...userMessage("end"), time: 50 }]);
        expectHistory({ log: session.log, projections: session.projections }, events, "s");
      }),
    );

    test(
      "a writer whose push was lost refuses everything after it",
      rigged(async (rig) => {
        const session = await rig.create("s");
        rig.faults.fail("appendBatch", { error: new StorageFullError({}) });
        const writer = session.log.writer();
        await writer.push(userMessage("lost"));
        const outcomes = await outcomesOf([
          writer.flush(),
          writer.append(userMessage("after")),
          writer.push(userMessage("after")),
        ]);
        expect(outcomes).toEqual(["storage-full", "storage-full", "storage-full"]);
        expect((await session.log.writer().append(userMessage("anew"))).seq).toBe(0);
        expect(session.log.length).toBe(1);
      }),
    );
  });

  describe.skipIf(!capabilities.faults)("chunk window", () => {
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

  describe.skipIf(!capabilities.faults)("bounded queue", () => {
    const cases = [
      ["events", { maxEvents: 4 }, deltas(4)],
      ["bytes", { maxBytes: 4_000 }, [userMessage("x".repeat(5_000))]],
    ] as const;
    for (const [what, settings, fill] of cases) {
      test(
        `a producer waits while too many ${what} are queued, and goes on when there is room`,
        rigged(async (rig) => {
          const session = await rig.create("s");
          const hold = rig.faults.hold("appendBatch");
          const writer = session.log.writer();
          let last = Promise.resolve();
          for (const draft of fill) last = writer.push(draft);
          await hold.reached;
          const byId = { type: "session/title", seq: fill.length, time: 0, data: {} };
          const append = rig.store.append("s", [byId]);
          await settle();
          expect([Bun.peek.status(last), Bun.peek.status(append)]).toEqual(["pending", "pending"]);
          expect(writer.nextSeq).toBe(fill.length);
          hold.release();
          await Promise.all([last, append]);
          expect(session.log.length).toBe(fill.length + 1);
        }, settings),
      );
    }

    test(
      "producers that wait go on when the commit failed, too",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const hold = rig.faults.hold("appendBatch");
        rig.faults.fail("appendBatch", { error: new StorageFullError({}) });
        const lost = session.log.append(userMessage("x"));
        await hold.reached;
        const append = rig.store.append("s", [{ type: "session/title", seq: 0, time: 0, data: {} }]);
        await settle();
        expect(Bun.peek.status(append)).toBe("pending");
        hold.release();
        expect(await outcomesOf([lost, append])).toEqual(["storage-full", "ok"]);
        expect(session.log.length).toBe(1);
      }, { maxEvents: 1 }),
    );

    test(
      "deltas that fill the queue do not wait for the window",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await Promise.all(deltas(4).map((draft) => session.log.append(draft)));
        expect(session.log.length).toBe(4);
      }, { ...WINDOW, maxEvents: 4 }),
    );
  });
}
