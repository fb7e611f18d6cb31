import { expect, test } from "bun:test";
import { StorageFullError } from "../../src/store/errors.ts";
import { toEvents, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { deltas, outcomesOf } from "./support.ts";

/** One commit serves many appends. */
export function groupCommit({ rigged, needing }: Contract): void {
  needing("faults", "group commit", () => {
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
        expect(rig.faults.commits.at(-1)?.[0]?.records.length).toBe(20);
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
        for (const step of [
          () => writer.flush(),
          () => writer.append(userMessage("after")),
          () => writer.push(userMessage("after")),
        ]) {
          expect(await outcomesOf([step()])).toEqual(["storage-full"]);
        }
        expect((await session.log.writer().append(userMessage("anew"))).seq).toBe(0);
        expect(session.log.length).toBe(1);
      }),
    );
    test(
      "a writer whose push was lost takes no event before it knows, either",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const writer = session.log.writer();
        rig.faults.fail("appendBatch", { error: new StorageFullError({}) });
        const first = session.log.append(userMessage("lost"));
        await writer.push(userMessage("lost as well"));
        // The first to be told, in the moment between the loss and the writer's own learning of it.
        const tooEarly = first.catch(() => writer.append(userMessage("after the gap")));
        expect(await outcomesOf([tooEarly, writer.flush()])).toEqual(["storage-full", "storage-full"]);
        expect(session.log.length).toBe(0);
      }),
    );
  });
}
