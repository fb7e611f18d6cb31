import { expect, test } from "bun:test";
import { StorageFullError } from "../../src/store/errors.ts";
import { userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { deltas, outcomesOf, settle, titleAt } from "./support.ts";

/** A producer that is ahead of the disk waits. */
export function boundedQueue({ rigged, needing }: Contract): void {
  needing("faults", "bounded queue", () => {
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
          const append = rig.store.append("s", [titleAt(fill.length)]);
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
      rigged(
        async (rig) => {
          const session = await rig.create("s");
          const hold = rig.faults.hold("appendBatch");
          rig.faults.fail("appendBatch", { error: new StorageFullError({}) });
          const lost = session.log.append(userMessage("x"));
          await hold.reached;
          const append = rig.store.append("s", [titleAt(0)]);
          await settle();
          expect(Bun.peek.status(append)).toBe("pending");
          hold.release();
          expect(await outcomesOf([lost, append])).toEqual(["storage-full", "ok"]);
          expect(session.log.length).toBe(1);
        },
        { maxEvents: 1 },
      ),
    );

    test(
      "deltas that fill the queue do not wait for the window",
      rigged(
        async (rig) => {
          const session = await rig.create("s");
          await Promise.all(deltas(4).map((draft) => session.log.append(draft)));
          expect(session.log.length).toBe(4);
        },
        { chunkWindowMs: 100, maxEvents: 4 },
      ),
    );
  });
}
