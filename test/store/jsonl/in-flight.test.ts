import { describe, expect, test } from "bun:test";
import { PersistenceCoordinator } from "../../../src/store/coordinator.ts";
import { JsonlBackend } from "../../../src/store/jsonl/backend.ts";
import { JsonlReader } from "../../../src/store/jsonl/reader.ts";
import { JsonlWriter } from "../../../src/store/jsonl/writer.ts";
import { runInProcess, type StorageClient } from "../../../src/store/storage-thread.ts";
import { outcomesOf, settle, title, titleAt } from "../../contract/support.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";

const header = (id: string) => ({ version: 0, id, createdAt: 1, cwd: "/p" }) as const;

/** A store of which the answers of the disk wait: all is written, and nobody was told. */
function openHeld(place: Place, encoding: (typeof ENCODINGS)[number]) {
  const resources = new AsyncDisposableStack();
  const reader = resources.use(new JsonlReader(place.root, false));
  const direct = runInProcess(new JsonlWriter(place.root, encoding));
  resources.defer(() => direct.close());
  let gate: PromiseWithResolvers<void> | undefined;
  const client: StorageClient = {
    ...direct,
    appendBatch: async (batches) => {
      const outcomes = await direct.appendBatch(batches);
      await gate?.promise;
      return outcomes;
    },
  };
  const backend = new JsonlBackend(place.root, encoding, reader, client, resources);
  const store = new PersistenceCoordinator(backend, { clock: () => 1, chunkWindowMs: 0 });
  return {
    store,
    backend,
    hold: () => {
      gate = Promise.withResolvers();
    },
    release: () => gate?.resolve(),
    [Symbol.asyncDispose]: async () => {
      // Also after a failed test: closing waits for what is under way.
      gate?.resolve();
      await store.close();
    },
  };
}

describe.each(ENCODINGS)("while a commit is on its way to the disk, encoding %s", (encoding) => {
  test("readers see what was durable before it, and the whole of it afterwards", async () => {
    using place = new Place();
    await using held = openHeld(place, encoding);
    const { store, hold, release } = held;
    const session = await store.create(header("s"));
    await session.log.append(title(0));
    const before = await readLog(store, "s");
    hold();
    const pending = session.log.append(title(1));
    await settle();
    expect(await readLog(store, "s")).toEqual(before);
    expect((await store.readFrom("s", 0)).length).toBe(1);
    expect(await store.readFrom("s", 1)).toEqual([]);
    expect((await store.inspect("s")).log.length).toBe(1);
    release();
    await pending;
    expect((await readLog(store, "s")).texts.length).toBe(2);
    expect((await store.readFrom("s", 1)).length).toBe(1);
  });

  test("a session that it makes is not there yet: not by its id, and in no listing", async () => {
    using place = new Place();
    await using held = openHeld(place, encoding);
    const { store, hold, release } = held;
    place.put("other", encoding, buildLog("other", encoding, [[titleText(0)]]).bytes);
    hold();
    const session = await store.create(header("s"));
    const pending = session.log.append(title(0));
    await settle();
    expect(await outcomesOf([store.stream("s"), store.inspect("s")])).toEqual(["not-found", "not-found"]);
    const listed = async () => [
      (await store.list()).items.map(({ id }) => id),
      (await store.listSnapshots()).items.map(({ id }) => id),
    ];
    expect(await listed()).toEqual([["other"], ["other"]]);
    release();
    await pending;
    expect(await listed()).toEqual([
      ["other", "s"],
      ["other", "s"],
    ]);
  });

  test("no revision stands for both what was there before and what comes after", async () => {
    using place = new Place();
    await using held = openHeld(place, encoding);
    const { store, backend, hold, release } = held;
    const session = await store.create(header("s"));
    await session.log.append(title(0));
    hold();
    const pending = session.log.append(title(1));
    await settle();
    const during = [
      (await backend.readStored("s"))?.revision,
      await backend.readRevision("s"),
      (await store.stream("s")).revision,
      (await store.listSnapshots()).items[0]?.revision,
    ];
    release();
    await pending;
    const after = (await store.stream("s")).revision;
    expect(await backend.readRevision("s")).toBe(after);
    // Whoever got fewer events with a revision would take them for all of the later ones.
    expect(during.map((revision) => revision === after)).toEqual([false, false, false, false]);
  });

  test("an append by id waits for its turn, and what was read meanwhile is not kept as the newest", async () => {
    using place = new Place();
    place.put("s", encoding, buildLog("s", encoding, [[titleText(0)]]).bytes);
    await using held = openHeld(place, encoding);
    const { store, hold, release } = held;
    expect((await store.inspect("s")).log.length).toBe(1);
    hold();
    const pending = store.append("s", [titleAt(1)]);
    await settle();
    const inspected = store.inspect("s");
    release();
    await pending;
    expect((await inspected).log.length).toBe(2);
    expect((await store.load("s")).log.length).toBe(2);
  });
});
