import { expect, test } from "bun:test";
import { decodeRecord, type SessionRecord } from "../../src/session/records.ts";
import type { AppendBatch, StorageBackend, StoredSession } from "../../src/store/backend.ts";
import { AlreadyExistsError, NotFoundError, SequenceConflictError } from "../../src/store/errors.ts";
import type { Contract } from "./contract.ts";
import { headerOf } from "./rig.ts";
import { deltas, rejectionOf, title, titleAt } from "./support.ts";

const NONE = "no such session";

function titles(from: number, count: number): SessionRecord[] {
  return Array.from({ length: count }, (_, k) => decodeRecord(JSON.stringify(titleAt(from + k)), {}).record);
}

function batch(id: string, expectedSeq: number, more: Partial<AppendBatch> = {}): AppendBatch {
  return { id, expectedSeq, records: titles(expectedSeq, 2), ...more };
}

async function recordsOf(stored: StoredSession | undefined): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const page of stored?.pages ?? []) records.push(...page.map(({ record }) => record));
  return records;
}

/** All that a backend shows of itself, but for where it lies. */
async function everything(backend: StorageBackend): Promise<unknown> {
  const { items } = await backend.listSnapshots({});
  return Promise.all(
    items.map(async ({ id, revision }) => ({
      id,
      revision,
      records: await recordsOf(await backend.readStored(id)),
    })),
  );
}

/** What the shared code relies on without being able to see to it, asked of the backend itself. */
export function hooks({ rigged, needing }: Contract): void {
  needing("faults", "the hooks themselves", () => {
    test(
      "a page of a stored session holds a bounded amount of text, however long its records are",
      rigged(async (rig) => {
        const data = "x".repeat(400_000);
        await rig.stored(
          "s",
          Array.from({ length: 40 }, () => ({ type: "session/title", data })),
        );
        await rig.restart();
        let count = 0;
        for await (const page of (await rig.faults.inner.readStored("s"))?.pages ?? []) {
          count += page.length;
          expect(page.reduce((sum, { record }) => sum + record.text.length, 0)).toBeLessThan(4_000_000);
        }
        expect(count).toBe(40);
      }),
    );

    test(
      "readSuffix begins with the record that holds the seq, and gives as many records as it is asked for",
      rigged(async (rig) => {
        for (const id of ["before", "s", "after"]) {
          await rig.stored(id, [title(0), ...deltas(5), title(1), ...deltas(3), title(2)]);
        }
        await rig.restart();
        const { inner } = rig.faults;
        const records = await recordsOf(await inner.readStored("s"));
        const length = records.reduce((sum, { count }) => sum + count, 0);
        for (let seq = 0; seq < length; seq += 1) {
          const from = records.findIndex((record) => record.seq + record.count > seq);
          for (const limit of [0, 1, 2, 100]) {
            const suffix = await inner.readSuffix("s", seq, limit);
            expect(suffix?.map(({ record }) => record)).toEqual(records.slice(from, from + limit));
          }
        }
        expect((await inner.readSuffix("s", length, 100))?.length).toBeLessThanOrEqual(1);
      }),
    );

    test(
      "one outcome a batch, in their order: what does not fit is refused alone, and leaves nothing",
      rigged(async (rig) => {
        for (const id of ["grows", "behind", "ahead", "twice"]) await rig.stored(id, [title(0)]);
        const { inner } = rig.faults;
        const header = JSON.stringify(headerOf("new"));
        const outcomes = await inner.appendBatch([
          batch("behind", 0),
          batch("grows", 1),
          batch("ahead", 3),
          batch("new", 0, { header }),
          batch("twice", 0, { header: JSON.stringify(headerOf("twice")) }),
          batch(NONE, 0),
          batch("late", 2, { header: JSON.stringify(headerOf("late")) }),
        ]);
        expect(outcomes.map((outcome) => (outcome.ok ? outcome.revision : outcome.error))).toEqual([
          expect.any(SequenceConflictError),
          (await inner.readRevision("grows")) ?? "",
          expect.any(SequenceConflictError),
          (await inner.readRevision("new")) ?? "",
          expect.any(AlreadyExistsError),
          expect.any(NotFoundError),
          expect.any(SequenceConflictError),
        ]);
        await rig.restart();
        const lengths = (await rig.store.list()).items.map(async ({ id }) => {
          return [id, (await rig.store.readFrom(id, 0)).length] as const;
        });
        expect(Object.fromEntries(await Promise.all(lengths))).toEqual({
          ...{ behind: 1, grows: 3, ahead: 1, new: 2, twice: 1 },
        });
      }),
    );

    test(
      "a repair goes where it says or nowhere, so that no second one repairs again",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const { inner } = rig.faults;
        const repair = { expectedSeq: 1, records: titles(1, 2) };
        const revision = await inner.commitRepair("s", repair);
        const after = await everything(inner);
        expect(await rejectionOf(inner.commitRepair("s", repair))).toBeInstanceOf(SequenceConflictError);
        expect(await rejectionOf(inner.commitRepair("s", { ...repair, expectedSeq: 4 }))).toBeInstanceOf(
          SequenceConflictError,
        );
        expect(await rejectionOf(inner.commitRepair(NONE, repair))).toBeInstanceOf(NotFoundError);
        expect(await everything(inner)).toEqual(after);
        expect(await inner.readRevision("s")).toBe(revision);
        await rig.restart();
        expect((await rig.store.readFrom("s", 0)).length).toBe(3);
      }),
    );

    test(
      "there is one revision at a time, whoever tells it",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const { inner } = rig.faults;
        const seen = new Set<string>();
        for (let seq = 1; seq < 9; seq += 2) {
          const [outcome] = await inner.appendBatch([batch("s", seq)]);
          const revision = outcome?.ok === true ? outcome.revision : "";
          expect(await inner.readRevision("s")).toBe(revision);
          expect((await inner.readStored("s"))?.revision).toBe(revision);
          expect(await inner.listSnapshots({})).toEqual({ items: [{ id: "s", revision }] });
          seen.add(revision);
        }
        expect(seen.size).toBe(4);
      }),
    );

    test(
      "reading changes nothing, however often",
      rigged(async (rig) => {
        await rig.stored("s", [title(0), ...deltas(4)]);
        await rig.restart();
        const { inner } = rig.faults;
        const before = await everything(inner);
        for (let round = 0; round < 3; round += 1) {
          await recordsOf(await inner.readStored("s"));
          await inner.readSuffix("s", 1, 1);
          await inner.list({});
          await inner.checkWritable();
        }
        expect(await everything(inner)).toEqual(before);
      }),
    );

    test(
      "a session may go on while it is read: what is read is whole up to where it ends",
      rigged(async (rig) => {
        await rig.stored(
          "s",
          Array.from({ length: 700 }, (_, k) => title(k)),
        );
        const { inner } = rig.faults;
        const stored = await inner.readStored("s");
        await inner.appendBatch([batch("s", 700)]);
        const records = await recordsOf(stored);
        expect(records.length).toBeGreaterThanOrEqual(700);
        expect(records.map(({ seq }) => seq)).toEqual(records.map((_, k) => k));
      }),
    );

    test(
      "of a session that is not there nothing is read, and nothing comes to be by asking",
      rigged(async (rig) => {
        const { inner } = rig.faults;
        expect(await inner.readStored(NONE)).toBeUndefined();
        expect(await inner.readRevision(NONE)).toBeUndefined();
        expect(await inner.readSuffix(NONE, 0, 10)).toBeUndefined();
        expect(await inner.delete(NONE)).toBe(false);
        expect([await inner.list({}), await inner.listSnapshots({})]).toEqual([{ items: [] }, { items: [] }]);
        await rig.stored("s", [title(0)]);
        expect([await inner.delete("s"), await inner.delete("s")]).toEqual([true, false]);
        expect(await inner.readRevision("s")).toBeUndefined();
      }),
    );

    test(
      "a cursor can be used again",
      rigged(async (rig) => {
        for (const id of ["a", "b", "c", "d"]) await rig.stored(id, [title(0)]);
        const { inner } = rig.faults;
        for (const method of ["list", "listSnapshots"] as const) {
          const { nextCursor: cursor = "" } = await inner[method]({ limit: 2 });
          const again = await inner[method]({ limit: 2, cursor });
          expect(await inner[method]({ limit: 2, cursor })).toEqual(again);
          expect([again.items.length, again.nextCursor]).toEqual([2, undefined]);
        }
      }),
    );

    test(
      "it is safe to close twice",
      rigged(async (rig) => {
        const { inner } = rig.faults;
        await rig.store.close();
        await inner.close();
        await inner.close();
      }),
    );
  });
}
