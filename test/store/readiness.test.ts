import { expect, test } from "bun:test";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { StorageFailedError, StorageFullError } from "../../src/store/errors.ts";
import { MemoryBackend } from "../../src/store/memory/backend.ts";
import { ManualSchedule } from "../contract/manual-schedule.ts";
import { rejectionOf, title } from "../contract/support.ts";
import { FaultyBackend } from "../fixtures/faults.ts";

/** A backend on a disk that can be asked for its space. */
class AskedBackend extends FaultyBackend {
  room = true;
  asked = 0;

  async hasRoom(): Promise<boolean> {
    this.asked += 1;
    return this.room;
  }
}

const READY = { backend: "memory", writable: true };
const FULL = { backend: "memory", writable: false, problem: "storage-full" };

async function openOn(backend: AskedBackend, schedule = new ManualSchedule()) {
  const options = { clock: () => 1, chunkWindowMs: 0, schedule: schedule.schedule };
  const store = new PersistenceCoordinator(backend, options);
  const { log } = await store.create({ version: 0, id: "s", createdAt: 1 });
  /** One append that fails like this. */
  const failWith = async (error: Error): Promise<void> => {
    backend.fail("appendBatch", { error });
    await rejectionOf(log.append(title(0)));
  };
  return { store, log, failWith, schedule };
}

test("a disk that was full is asked for its space, and not before: what fits into its last block says nothing", async () => {
  const backend = new AskedBackend(new MemoryBackend());
  const { store, log, failWith } = await openOn(backend);
  expect(await store.health()).toEqual(READY);
  expect(backend.asked).toBe(0);
  backend.room = false;
  await failWith(new StorageFullError({}));
  expect(await store.health()).toEqual(FULL);
  await log.append(title(0));
  expect(await store.health()).toEqual(FULL);
  backend.room = true;
  expect(await store.health()).toEqual(READY);
  const { asked } = backend;
  expect(await store.health()).toEqual(READY);
  expect(backend.asked).toBe(asked);
});

test("room is no answer to another failure, nor to one that came after the disk was full", async () => {
  const backend = new AskedBackend(new MemoryBackend());
  const { store, log, failWith } = await openOn(backend);
  await failWith(new StorageFailedError("EIO"));
  expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
  await failWith(new StorageFullError({}));
  await failWith(new StorageFailedError("EIO"));
  expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
  await log.append(title(0));
  expect(await store.health()).toEqual(READY);
});

test("who asks while the disk is busy gets what is known, at once during a commit and soon during anything else", async () => {
  const backend = new AskedBackend(new MemoryBackend());
  const { store, log, schedule } = await openOn(backend);
  const commit = backend.hold("appendBatch");
  const append = log.append(title(0));
  await commit.reached;
  expect(await store.health()).toEqual(READY);
  expect(backend.calls("checkWritable")).toBe(0);
  commit.release();
  await append;

  const check = backend.hold("checkWritable");
  const answers = [store.health(), store.health()];
  await check.reached;
  schedule.fire();
  expect(await Promise.all(answers)).toEqual([READY, READY]);
  // The check goes on, and serves whoever asks next.
  const next = store.health();
  backend.fail("checkWritable", { error: new StorageFailedError("gone"), call: 1 });
  check.release();
  expect(await next).toEqual(READY);
  expect(backend.calls("checkWritable")).toBe(1);
  expect(await store.health()).toMatchObject({ writable: false, problem: "storage-failed" });
  expect(schedule.waiting).toBe(0);
});
