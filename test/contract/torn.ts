import { expect, test } from "bun:test";
import { decodeRecord } from "../../src/session/records.ts";
import { StorageFullError } from "../../src/store/errors.ts";
import { toEvents, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { closersOf, expectHistory } from "./model.ts";
import { headerOf, type Rig } from "./rig.ts";
import { drain } from "./streaming.ts";
import { outcomesOf, rejectionOf, title, titleAt } from "./support.ts";

const OPEN_TURN = [turnStart(1), userMessage("x")].map((draft, k) => ({ ...draft, time: k }));
const EVENTS = toEvents(OPEN_TURN);
const CLOSED = [...EVENTS, ...closersOf(EVENTS)];

/** A session with an open Turn, and behind it one event whose commit a crash cut short; beside it a whole one. */
async function tear(rig: Rig, drafts = OPEN_TURN): Promise<void> {
  await rig.stored("other", [title(0)]);
  await rig.stored("s", drafts);
  await rig.store.append("s", [{ ...titleAt(drafts.length), data: "x".repeat(300) }]);
  await rig.restartTorn("s");
}

/** A last record that was never fully written was never acknowledged: it is set aside, and nothing else goes with it. */
export function torn({ rigged, needing, capabilities }: Contract): void {
  needing("tear", "a torn end", () => {
    test(
      "is no part of the log; whoever reads is told of it, and changes nothing",
      rigged(async (rig) => {
        await tear(rig);
        const before = await rig.store.listSnapshots();
        for (let round = 0; round < 2; round += 1) {
          const inspected = await rig.store.inspect("s");
          expect(inspected.torn).toBe(true);
          expectHistory(inspected, CLOSED, "s");
          expect(await rig.store.readFrom("s", 0)).toEqual(EVENTS);
          const stream = await rig.store.stream("s");
          const { records, fault } = await drain(stream);
          expect([records.length, fault, stream.torn()]).toEqual([EVENTS.length, undefined, true]);
          expect(await rig.store.listSnapshots()).toEqual(before);
          await rig.restart();
        }
        const { items } = await rig.store.list();
        expect(items.find(({ id }) => id === "s")?.header).toEqual(headerOf("s"));
        expect((await rig.store.inspect("other")).torn).toBe(false);
      }),
    );

    for (const method of ["load", "prepare"] as const) {
      test(
        `is set aside by ${method}, once; the log goes on where it was whole`,
        rigged(async (rig) => {
          await tear(rig);
          const before = (await rig.store.inspect("s")).revision;
          if (method === "load") {
            const loaded = await rig.store.load("s");
            expect(loaded.torn).toBe(false);
            expectHistory(loaded, CLOSED, "s");
          } else {
            const { session } = await rig.resume("s");
            expect((await session.log.append(title(0))).seq).toBe(CLOSED.length);
          }
          await rig.restart();
          const after = await rig.store.inspect("s");
          expect([after.torn, after.closers.length, after.revision === before]).toEqual([false, 0, false]);
          expect(after.log.slice(0, CLOSED.length)).toEqual(CLOSED);
          expect((await rig.store.load("s")).revision).toBe(after.revision);
          await rig.store.append("s", [titleAt(after.log.length)]);
          await rig.restart();
          expect((await rig.store.inspect("s")).log.length).toBe(after.log.length + 1);
        }),
      );
    }

    test(
      "is set aside where nothing else is to be repaired, too",
      rigged(async (rig) => {
        await tear(rig, [{ ...title(0), time: 0 }]);
        const before = await rig.store.inspect("s");
        expect([before.torn, before.closers.length, before.log.length]).toEqual([true, 0, 1]);
        const { revision, torn: isTorn } = await rig.store.load("s");
        expect([isTorn, revision === before.revision]).toEqual([false, false]);
        await rig.restart();
        expect((await rig.store.inspect("s")).torn).toBe(false);
        await rig.store.append("s", [titleAt(1)]);
        await rig.restart();
        expect(await rig.store.readFrom("s", 0)).toEqual([titleAt(0), titleAt(1)]);
      }),
    );

    test(
      "is never written behind: who appends without having read it is refused, and nothing changes",
      rigged(async (rig) => {
        await tear(rig, [{ ...title(0), time: 0 }]);
        const before = await rig.store.listSnapshots();
        const header = JSON.stringify(headerOf("s"));
        const { record } = decodeRecord(JSON.stringify(titleAt(1)), {});
        const refused = await outcomesOf([
          rig.store.append("s", [titleAt(1)]),
          rig.store.importRecords(header, [record]),
        ]);
        expect(refused).toEqual(["storage-failed", "storage-failed"]);
        await rig.restart();
        expect(await rig.store.listSnapshots()).toEqual(before);
        expect((await rig.store.inspect("s")).torn).toBe(true);
        await rig.store.load("s");
        await rig.store.append("s", [titleAt(1)]);
        await rig.restart();
        expect(await rig.store.readFrom("s", 0)).toEqual([titleAt(0), titleAt(1)]);
      }),
    );

    test(
      "is set aside by an import that says so",
      rigged(async (rig) => {
        await tear(rig, [{ ...title(0), time: 0 }]);
        const header = JSON.stringify(headerOf("s"));
        const { record } = decodeRecord(JSON.stringify(titleAt(1)), {});
        await rig.store.importRecords(header, [record], { setTornAside: true });
        await rig.restart();
        const { torn: isTorn, log } = await rig.store.inspect("s");
        expect([isTorn, ...log]).toEqual([false, titleAt(0), titleAt(1)]);
      }),
    );

    test(
      "goes with its session",
      rigged(async (rig) => {
        await tear(rig);
        await rig.store.delete("s");
        await rig.stored("s", [title(5)]);
        await rig.restart();
        const { torn: isTorn, log } = await rig.store.inspect("s");
        expect([isTorn, log.length, log.at(0).data]).toEqual([false, 1, { n: 5 }]);
      }),
    );

    test(
      "of the very first commit leaves a session without events, or none, and harms no other",
      rigged(async (rig) => {
        await rig.stored("other", [title(0)]);
        await rig.stored("s", [{ ...title(0), data: "x".repeat(300) }]);
        await rig.restartTorn("s");
        const [outcome] = await outcomesOf([rig.store.inspect("s")]);
        expect(["ok", "not-found"]).toContain(outcome ?? "");
        if (outcome === "ok") expect((await rig.store.inspect("s")).log.length).toBe(0);
        else await rig.stored("s", [title(1)]);
        expect((await rig.store.list()).items.map(({ id }) => id)).toContain("other");
        expect((await rig.store.load("other")).log.length).toBe(1);
      }),
    );

    test.skipIf(!capabilities.faults)(
      "stays where it is when the repair fails, and the next repair sets it aside",
      rigged(async (rig) => {
        await tear(rig);
        rig.faults.fail("commitRepair", { error: new StorageFullError({}) });
        expect(await rejectionOf(rig.store.load("s"))).toMatchObject({ code: "storage-full" });
        expect((await rig.store.inspect("s")).torn).toBe(true);
        expectHistory(await rig.store.load("s"), CLOSED, "s");
      }),
    );
  });
}
