import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { HoldfastError } from "../../src/store/errors.ts";
import type { Encoding } from "../../src/store/jsonl/layout.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { outcomesOf, titleAt } from "../contract/support.ts";
import {
  DATA_OPERATIONS,
  type Fate,
  FaultyDisk,
  OPERATIONS,
  type Operation,
} from "../fixtures/faulty-disk.ts";
import { tearLog } from "../fixtures/log-files.ts";
import { HEADER, ID } from "../fixtures/power-cut/check.ts";
import { COMMITS, TEXTS } from "../fixtures/power-cut/turn.ts";
import { ENCODINGS, Place, readLog } from "../store/jsonl/place.ts";

// Each operation of a whole Turn fails once, perhaps on a busy machine.
setDefaultTimeout(60_000);

interface Fault {
  readonly name: string;
  readonly code: string;
  readonly fate: Fate;
  /** From there on, until the first append has failed. */
  readonly isLasting?: boolean;
  /** Operations that it can happen to; by default all. */
  readonly of?: readonly Operation[];
}

const FAULTS: readonly Fault[] = [
  { name: "finds no space", code: "ENOSPC", fate: true },
  { name: "fails with an I/O error", code: "EIO", fate: true },
  { name: "is refused", code: "EACCES", fate: true },
  { name: "finds no space, nor does what follows", code: "ENOSPC", fate: true, isLasting: true },
  { name: "fails, and so does what follows", code: "EIO", fate: true, isLasting: true },
  { name: "is done and fails", code: "EIO", fate: "late", of: [...DATA_OPERATIONS, "close", "syncFolder"] },
  { name: "is short", code: "", fate: "short", of: ["write"] },
  { name: "is slow", code: "", fate: 1 },
];

/** Makes the n-th operation fail that the fault can happen to. */
function plan(
  disk: FaultyDisk,
  { code, fate, isLasting = false, of = OPERATIONS }: Fault,
  n: number,
): () => boolean {
  let count = 0;
  disk.watch((operation) => {
    if (!of.includes(operation)) return false;
    count += 1;
    return count - 1 === n || (isLasting && count > n) ? fate : false;
  }, code);
  return () => count > n;
}

async function errorOf(task: Promise<unknown>): Promise<unknown> {
  try {
    await task;
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What the store has of the session; nothing when there is none. */
async function textsIn(store: SessionPersistence): Promise<readonly string[]> {
  return (await outcomesOf([store.stream(ID)]))[0] === "not-found" ? [] : (await readLog(store, ID)).texts;
}

/** Opens the root anew: what was acknowledged is there, and at most what was sent; the log takes appends again. */
async function expectSound(
  place: Place,
  encoding: Encoding,
  [least, most]: readonly [number, number],
  sent: readonly string[] = TEXTS,
): Promise<void> {
  await using store = await place.open(encoding);
  const stored = await textsIn(store);
  expect(stored).toEqual(sent.slice(0, stored.length));
  expect(stored.length).toBeGreaterThanOrEqual(least);
  expect(stored.length).toBeLessThanOrEqual(most);
  expect(Object.keys(place.contents()).filter((name) => name.includes("draft"))).toEqual([]);
  if (stored.length === 0) return;
  const { log, projections } = await store.load(ID);
  expect(projections.openWork.turn).toBeUndefined();
  await store.append(ID, [titleAt(log.length)]);
  expect((await textsIn(store)).length).toBe(log.length + 1);
}

describe.each(ENCODINGS)("each file operation of a Turn, encoding %s", (encoding) => {
  /** Returns whether the fault came to pass. */
  async function runWith(fault: Fault, n: number): Promise<boolean> {
    using place = new Place();
    const disk = new FaultyDisk(OPERATIONS);
    const hasHappened = plan(disk, fault, n);
    await using store = place.openOn(disk, encoding);
    const { log } = await store.create(HEADER);
    for (const commit of COMMITS) {
      const { length } = log;
      const error = await errorOf(log.appendAll(commit));
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(HoldfastError);
      expect(error).toMatchObject({ code: fault.code === "ENOSPC" ? "storage-full" : "storage-failed" });
      disk.watch();
      expect([...log.texts()]).toEqual(TEXTS.slice(0, length));
      expect(await textsIn(store)).toEqual(TEXTS.slice(0, length));
      const again = await errorOf(log.appendAll(commit));
      if (again === undefined) continue;
      // The log could not be cut back: it takes nothing more until it is opened anew.
      expect(again).toMatchObject({ code: "storage-failed", message: expect.stringContaining("cut back") });
      expect(await textsIn(store)).toEqual(TEXTS.slice(0, length));
      await store.close();
      await expectSound(place, encoding, [length, length + commit.length]);
      return hasHappened();
    }
    expect([...log.texts()]).toEqual([...TEXTS]);
    expect(await textsIn(store)).toEqual(TEXTS);
    await store.close();
    await expectSound(place, encoding, [TEXTS.length, TEXTS.length]);
    return hasHappened();
  }

  test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    "that %s: the append fails and leaves nothing, or it is there; the next one goes on without a gap",
    async (_, fault) => {
      let n = 0;
      while (await runWith(fault, n)) n += 1;
      expect(n).toBeGreaterThan(fault.of?.length === 1 ? 8 : 18);
    },
  );
});

describe.each(ENCODINGS)("each file operation of a resumption, encoding %s", (encoding) => {
  test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    "that %s: resuming fails and loses nothing, or it works; afterwards it works",
    async (_, fault) => {
      for (let n = 0, hasHappened = () => true; hasHappened(); n += 1) {
        using place = new Place();
        {
          await using store = place.openOn(new FaultyDisk(), encoding);
          const { log } = await store.create(HEADER);
          for (const commit of COMMITS.slice(0, 6)) await log.appendAll(commit);
        }
        tearLog(place.log(ID, encoding), encoding);
        const disk = new FaultyDisk(OPERATIONS);
        const store = place.openOn(disk, encoding);
        const { log, closers } = await (await place.read()).inspect(ID);
        const whole = [...log.texts()];
        const before = whole.slice(0, whole.length - closers.length);
        hasHappened = plan(disk, fault, n);
        const error = await errorOf(store.load(ID));
        if (error !== undefined) {
          expect(error).toBeInstanceOf(HoldfastError);
          disk.watch();
          expect((await textsIn(store)).slice(0, before.length)).toEqual(before);
        }
        await store.close();
        const least = error === undefined ? whole.length : before.length;
        await expectSound(place, encoding, [least, whole.length], whole);
      }
    },
  );
});

describe.each(ENCODINGS)("each file operation of a deletion, encoding %s", (encoding) => {
  test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    "that %s: the session is there as a whole, or gone as a whole; afterwards it can be deleted and made again",
    async (_, fault) => {
      for (let n = 0, hasHappened = () => true; hasHappened(); n += 1) {
        using place = new Place();
        const disk = new FaultyDisk(OPERATIONS);
        await using store = place.openOn(disk, encoding);
        {
          await using session = await store.create(HEADER);
          for (const commit of COMMITS) await session.log.appendAll(commit);
        }
        hasHappened = plan(disk, fault, n);
        const error = await errorOf(store.delete(ID));
        disk.watch();
        const left = await textsIn(store);
        if (error === undefined) expect(left).toEqual([]);
        else {
          expect(error).toBeInstanceOf(HoldfastError);
          expect([0, TEXTS.length]).toContain(left.length);
          expect(await outcomesOf([store.delete(ID)])).toEqual([left.length === 0 ? "not-found" : "ok"]);
        }
        await using session = await store.create(HEADER);
        await session.log.appendAll(COMMITS[0] ?? []);
        expect((await textsIn(store)).length).toBe(session.log.length);
      }
    },
  );
});
