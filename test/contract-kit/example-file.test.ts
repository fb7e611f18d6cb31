import { describe, expect, test } from "bun:test";
import { readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { PersistenceCoordinator } from "../../src/store/coordinator.ts";
import { headerOf } from "../contract/rig.ts";
import { outcomesOf, rejectionOf, titleAt } from "../contract/support.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { ExampleBackend } from "./example-backend.ts";
import type { Write } from "./example-file.ts";

function open(folder: TempFolder, write?: Write): PersistenceCoordinator {
  const backend = new ExampleBackend(folder.path, write);
  return new PersistenceCoordinator(backend, { clock: () => 0, chunkWindowMs: 0 });
}

/** Stores one session with an event a commit, and returns its file. */
async function fill(folder: TempFolder, count: number): Promise<string> {
  await using store = open(folder);
  await using session = await store.create(headerOf("s"));
  for (let n = 0; n < count; n += 1) await session.log.append({ type: "session/title", data: { n } });
  return store.locate(headerOf("s"));
}

/** A disk that takes this many bytes more, and a part of what does not fit. */
function nearlyFull(state: { room: number }): Write {
  const write: Write = (
    file: number,
    data: unknown,
    offset?: unknown,
    length?: unknown,
    position?: unknown,
  ) => {
    if (!(data instanceof Uint8Array)) throw new TypeError("bytes are what is written here");
    const taken = Math.min(Number(length), state.room);
    state.room -= taken;
    if (taken > 0) return writeSync(file, data, Number(offset), taken, Number(position));
    throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  return write;
}

describe("what the contract cannot do to a backend from outside", () => {
  test("a disk that fills up in the middle of a write: the file is as it was, and freed space is enough", async () => {
    await using folder = await TempFolder.create();
    const file = await fill(folder, 2);
    const before = readFileSync(file);
    const disk = { room: 50 };
    await using store = open(folder, nearlyFull(disk));
    const created = await store.create(headerOf("new"));
    expect(await outcomesOf([store.append("s", [titleAt(2)])])).toEqual(["storage-full"]);
    expect(await outcomesOf([created.log.append({ type: "session/title", data: 0 })])).toEqual([
      "storage-full",
    ]);
    expect(readFileSync(file)).toEqual(before);
    expect((await store.list()).items.map(({ id }) => id)).toEqual(["s"]);
    disk.room = 10_000;
    await store.append("s", [titleAt(2)]);
    expect((await store.inspect("s")).log.length).toBe(3);
    expect((await created.log.append({ type: "session/title", data: 0 })).seq).toBe(0);
  });

  test("the bytes of a torn end are kept beside the log", async () => {
    await using folder = await TempFolder.create();
    const file = await fill(folder, 3);
    const whole = readFileSync(file);
    truncateSync(file, whole.length - 5);
    await using store = open(folder);
    await store.load("s");
    expect(Buffer.concat([readFileSync(file), readFileSync(`${file}.torn`)])).toEqual(whole.subarray(0, -5));
  });

  test("a damaged line: what precedes it is given out, nothing is written behind it, and listings say so", async () => {
    await using folder = await TempFolder.create();
    const file = await fill(folder, 3);
    const damaged = readFileSync(file, "utf8").replace("1}", "7}");
    writeFileSync(file, damaged);
    await using store = open(folder);
    expect((await store.readFrom("s", 0, { limit: 1 })).length).toBe(1);
    expect((await store.list()).items).toMatchObject([{ id: "s", problem: { state: "corrupt" } }]);
    for (const call of [store.inspect("s"), store.append("s", [titleAt(3)]), store.load("s")]) {
      expect(await rejectionOf(call)).toMatchObject({ code: "corrupt", place: { path: file } });
    }
    expect(readFileSync(file, "utf8")).toBe(damaged);
  });
});
