import { describe, expect, test } from "bun:test";
import type { SessionEvent } from "../../src/session/events.ts";
import type { Preparation, SessionSnapshot } from "../../src/store/persistence.ts";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { expectHistory } from "./model.ts";
import type { Rig } from "./rig.ts";
import { deltas, outcomesOf, settle, title, titleAt } from "./support.ts";

/** Whatever happened, the log that is open goes on and is what is stored. */
async function expectWhole(rig: Rig, session: { readonly log: Iterable<SessionEvent> }): Promise<void> {
  const events = [...session.log];
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, k) => k));
  expect(await rig.store.readFrom("s", 0)).toEqual(events);
}

/** Many producers at once. */
export function concurrency({ rigged, needing }: Contract): void {
  describe("concurrency", () => {
    test(
      "interleaved appends over many sessions keep the order of each",
      rigged(async (rig) => {
        const sessions = await Promise.all(Array.from({ length: 8 }, (_, k) => rig.create(`s${k}`)));
        const appends: Array<Promise<SessionEvent>> = [];
        const drafts = deltas(60).map((draft, k) =>
          k % 7 === 3 ? { ...userMessage(`${k}`), time: k } : draft,
        );
        for (const [k, draft] of drafts.entries()) {
          for (let n = 0; n < sessions.length; n += 1) {
            const session = sessions[(n + k) % sessions.length];
            if (session !== undefined) appends.push(session.log.append(draft));
          }
          // Now and then the queue gets to run.
          if (k % 11 === 0) await appends.at(-1);
        }
        await Promise.all(appends);
        await rig.restart();
        for (const { id, log } of sessions) {
          const stored = await rig.store.inspect(id);
          expectHistory(stored, [...log], id);
          expect([...log].map(({ time }) => time)).toEqual(drafts.map(({ time }) => time ?? -1));
        }
      }),
    );

    test(
      "several producers of one log get distinct, contiguous seqs in the order of their calls",
      rigged(async (rig) => {
        const { log } = await rig.create("s");
        const appends = Array.from({ length: 100 }, (_, k) => log.append(title(k)));
        expect((await Promise.all(appends)).map(({ seq }) => seq)).toEqual(appends.map((_, k) => k));
        expect([...log].map(({ data }) => data)).toEqual(appends.map((_, n) => ({ n })));
      }),
    );

    test(
      "two writers by id with the same cursor: one wins, the other is told, nothing forks",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const outcomes = await outcomesOf([
          rig.store.append("s", [titleAt(1)]),
          rig.store.append("s", [{ ...titleAt(1), data: "other" }]),
          rig.store.append("s", [titleAt(2)]),
        ]);
        expect(outcomes).toEqual(["ok", "sequence-conflict", "ok"]);
        expect((await rig.store.inspect("s")).log.at(1).data).toEqual({ n: 1 });
      }),
    );

    test(
      "a writer by id and an open log: who is second is told, and the log goes on",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.append(title(0));
        const outcomes = await outcomesOf([
          rig.store.append("s", [titleAt(1)]),
          session.log.append(title(2)),
          rig.store.append("s", [titleAt(2)]),
        ]);
        expect(outcomes.filter((outcome) => outcome === "ok").length).toBe(2);
        expect((await session.log.append(title(3))).seq).toBe(3);
        await expectWhole(rig, session);
      }),
    );

    for (const order of ["the append", "the resume"]) {
      for (const [what, drafts] of [
        ["a closed Turn", [title(0)]],
        ["an open Turn", [turnStart(1)]],
      ] as const) {
        test(
          `an append by id and a resume of ${what} at once, ${order} first: the Session has it, or it is a conflict`,
          rigged(async (rig) => {
            await rig.stored("s", drafts);
            const steps = [
              () => outcomesOf([rig.store.append("s", [titleAt(1)])]),
              () => rig.resume("s"),
            ] as const;
            // Both are begun before either can end.
            const late = order === "the append" ? undefined : steps[1]();
            const appending = steps[0]();
            const { session } = await (late ?? steps[1]());
            const [outcome] = await appending;
            expect(["ok", "sequence-conflict"]).toContain(outcome ?? "");
            const isThere = [...session.log].some(({ type, seq }) => type === "session/title" && seq === 1);
            expect(isThere).toBe(outcome === "ok");
            await session.log.append(title(9));
            await expectWhole(rig, session);
          }),
        );
      }
    }
  });

  needing("faults", "appends by id against resuming", () => {
    test(
      "an append that waits for room while the session is resumed does not write past the resumed log",
      rigged(
        async (rig) => {
          await rig.stored("s", [turnStart(1)]);
          // The entry for appends by id exists already.
          await rig.store.append("s", [titleAt(1)]);
          const other = await rig.create("other");
          const hold = rig.faults.hold("appendBatch");
          const full = other.log.append(title(0));
          await hold.reached;
          const append = rig.store.append("s", [titleAt(2)]);
          const preparing = rig.store.prepare("s");
          const preparation = await preparing;
          hold.release();
          const [outcome] = await outcomesOf([append, full]);
          const { session } = preparation;
          expect(outcome).toBe("sequence-conflict");
          await session.log.append(turnStart(2));
          await session.log.append(turnEnd(2));
          await expectWhole(rig, session);
          await preparation[Symbol.asyncDispose]();
        },
        { maxEvents: 1 },
      ),
    );

    test(
      "an append whose first read is slow and a resume behind it: both succeed, in order",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const hold = rig.faults.hold("readStored");
        const append = rig.store.append("s", [titleAt(1)]);
        await hold.reached;
        const preparing = rig.store.prepare("s");
        hold.release();
        const outcomes = await outcomesOf([append]);
        await using preparation = await preparing;
        const { session } = preparation;
        expect(session.log.length).toBe(outcomes[0] === "ok" ? 2 : 1);
        await session.log.append(title(5));
        await expectWhole(rig, session);
      }),
    );

    for (const method of ["prepare", "load", "inspect"] as const) {
      test(
        `${method} waits for an append by id whose commit is on its way, and has it`,
        rigged(async (rig) => {
          await rig.stored("s", [title(0)]);
          const hold = rig.faults.hold("appendBatch");
          const append = rig.store.append("s", [titleAt(1)]);
          await hold.reached;
          const reading: Promise<Preparation | SessionSnapshot> = rig.store[method]("s");
          await settle();
          expect(Bun.peek.status(reading)).toBe("pending");
          hold.release();
          await append;
          const result = await reading;
          const log = "session" in result ? result.session.log : result.log;
          expect(log.length).toBe(2);
          if ("session" in result) expect((await result.session.log.append(title(2))).seq).toBe(2);
        }),
      );
    }

    test(
      "a session is read while another one is asked whether it has changed",
      rigged(async (rig) => {
        await rig.stored("a", [title(0)]);
        await rig.stored("b", [title(0), title(1)]);
        await rig.store.inspect("a");
        const hold = rig.faults.hold("readRevision");
        const again = rig.store.inspect("a");
        await hold.reached;
        expect((await rig.store.load("b")).log.length).toBe(2);
        hold.release();
        expect((await again).log.length).toBe(1);
      }),
    );

    test(
      "no commit ever holds two batches of one session",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        for (let round = 0; round < 20; round += 1) {
          const next = (await rig.store.inspect("s")).log.length;
          const appends = [
            rig.store.append("s", [titleAt(next)]),
            rig.store.append("s", [titleAt(next + 1)]),
          ];
          const preparing = rig.store.prepare("s");
          await outcomesOf(appends);
          const { session } = await preparing;
          await session.log.append(title(round));
          await session[Symbol.asyncDispose]();
        }
        for (const batches of rig.faults.commits) {
          expect(new Set(batches.map(({ id }) => id)).size).toBe(batches.length);
        }
      }),
    );
  });
}
