import { describe, expect, test } from "bun:test";
import type { SessionEvent } from "../../src/session/events.ts";
import { textDelta, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import { rejectionOf, settle, title } from "./support.ts";

const AT = { turn: 1, step: 1 };

/** Commit before visible: nobody sees an event that could still be lost. */
export function visibility({ rigged, needing }: Contract): void {
  describe("whole commits", () => {
    test(
      "a reader never sees a part of what is appended together",
      rigged(async (rig) => {
        const { log } = await rig.create("s");
        const lengths = new Set<number>();
        let isWriting = true;
        const reading = (async () => {
          while (isWriting) {
            lengths.add((await rig.store.readFrom("s", 0)).length);
            await settle();
          }
        })();
        for (let round = 0; round < 8; round += 1) {
          await log.appendAll(Array.from({ length: 25 }, (_, k) => title(k)));
        }
        isWriting = false;
        await reading;
        expect([...lengths].filter((length) => length % 25 !== 0)).toEqual([]);
      }),
    );
  });

  needing("faults", "commit before visible", () => {
    test(
      "while a commit is on its way, its events show nowhere; afterwards they show everywhere, once",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const first = await session.log.append({ ...userMessage("first"), time: 1 });
        const before = await rig.store.inspect("s");
        const revisions = await rig.store.listSnapshots();
        const seen: SessionEvent[] = [];
        using _ = session.log.observe((log, from) => void seen.push(...log.slice(from)));

        const hold = rig.faults.hold("appendBatch");
        const append = session.log.append({ ...userMessage("second"), time: 2 });
        await hold.reached;
        expect(session.log.length).toBe(1);
        expect(() => session.log.at(1)).toThrow(RangeError);
        expect([...session.log]).toEqual([first]);
        expect(session.projections.surface.seqs).toEqual([0]);
        expect(seen).toEqual([]);
        expect(await rig.store.readFrom("s", 0)).toEqual([first]);
        const meanwhile = await rig.store.inspect("s");
        expect([meanwhile.log.length, meanwhile.revision]).toEqual([1, before.revision]);
        expect(await rig.store.listSnapshots()).toEqual(revisions);

        hold.release();
        const second = await append;
        expect(seen).toEqual([second]);
        expect(await rig.store.readFrom("s", 0)).toEqual([first, second]);
        expectHistory({ log: session.log, projections: session.projections }, [first, second], "s");
        expectHistory(await rig.store.inspect("s"), [first, second], "s");
        expectHistory(before, [first], "s");
      }),
    );

    test(
      "a session whose first commit is on its way is not there yet",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const hold = rig.faults.hold("appendBatch");
        const append = session.log.append(userMessage("first"));
        await hold.reached;
        expect((await rig.store.list()).items).toEqual([]);
        expect(await rejectionOf(rig.store.inspect("s"))).toMatchObject({ code: "not-found" });
        hold.release();
        await append;
        expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["s"]);
      }),
    );

    test(
      "events are visible by the time their append resolves, and observers were told before",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const order: string[] = [];
        using _ = session.log.observe((log, from) => void order.push(`observer ${from}-${log.length}`));
        const appends = ["a", "b", "c"].map(async (text) => {
          const { seq } = await session.log.append(userMessage(text));
          order.push(`append ${seq}, length ${session.log.length}`);
        });
        await Promise.all(appends);
        expect(order[0]).toStartWith("observer 0-");
        expect(order.filter((line) => line.startsWith("append")).length).toBe(3);
        expect(session.log.length).toBe(3);
      }),
    );

    test(
      "an observer may append",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const answered = Promise.withResolvers<SessionEvent>();
        using _ = session.log.observe((log) => {
          if (log.length === 1)
            session.log.append(userMessage("answer")).then(answered.resolve, answered.reject);
        });
        await session.log.append(userMessage("question"));
        expect((await answered.promise).seq).toBe(1);
        await rig.restart();
        expect((await rig.store.inspect("s")).log.length).toBe(2);
      }),
    );

    test(
      "a snapshot of the log is the log of its moment for ever",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const events = await session.log.appendAll([turnStart(1), userMessage("x"), textDelta(AT, "a")]);
        const snapshot = session.log.snapshot();
        await session.log.append(userMessage("later"));
        expect([...snapshot]).toEqual([...events]);
        expect([...snapshot.texts()].length).toBe(3);
        expect(() => snapshot.at(3)).toThrow(RangeError);
      }),
    );
  });
}
