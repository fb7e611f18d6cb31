import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { SessionGoneError } from "../../../src/store/errors.ts";
import { type FileSystem, SYSTEM } from "../../../src/store/file-system.ts";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import { repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { readOutline } from "../../../src/store/outline-reading.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { rejectionOf } from "../../contract/support.ts";
import { compactRoot, streamedLog } from "./compacting.ts";
import { buildLog, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";

/* A log is opened by its path more than once. One that was deleted in between is no fault of the program or the disk. */

const { bytes } = buildLog("s", "none", [[titleText(0)], [titleText(1)]]);
const LOG = streamedLog("zstd", 50_000);

/** Reads a stream of the session `s` that is deleted when it was opened. */
async function readDeleted(store: SessionPersistence, path: string, options = {}): Promise<unknown> {
  const { pages } = await store.stream("s", options);
  rmSync(dirname(path), { recursive: true });
  return await rejectionOf(Array.fromAsync(pages));
}

describe("a session that is deleted while it is read", () => {
  test.each(ENCODINGS)(
    "is said to be gone by a stream that was opened before, encoding %s",
    async (encoding) => {
      using place = new Place();
      place.put("other", encoding, buildLog("other", encoding, [[titleText(0)]]).bytes);
      await using store = await place.read();
      for (const options of [{}, { fromSeq: 1 }, { marks: {} }]) {
        const path = place.put(
          "s",
          encoding,
          buildLog("s", encoding, [[titleText(0)], [titleText(1)]]).bytes,
        );
        const error = await readDeleted(store, path, options);
        expect(error).toBeInstanceOf(SessionGoneError);
        expect(error).toMatchObject({ code: "not-found", place: { sessionId: "s", path } });
        expect(await rejectionOf(store.stream("s"))).toMatchObject({ code: "not-found" });
      }
    },
  );

  test("has no outline", async () => {
    using place = new Place();
    const path = place.put("s", "none", bytes);
    await using store = await place.read();
    const stream: SessionPersistence["stream"] = async (id, options) => {
      const found = await store.stream(id, options);
      rmSync(path);
      return found;
    };
    const deleting = new Proxy(store, {
      get: (target, name) => (name === "stream" ? stream : Reflect.get(target, name, target)),
    });
    expect(await readOutline(deleting, "s")).toBeUndefined();
  });

  test("is said to be gone by an examination", async () => {
    using place = new Place();
    const path = place.put("s", "none", bytes);
    await using examiner = await examineJsonl(place.root);
    for await (const session of examiner.sessions()) {
      rmSync(dirname(path), { recursive: true });
      const message = 'The session "s" was deleted while it was read';
      const finding = { code: "unreadable", message, place: { path, sessionId: "s" } } as const;
      const damage = { kind: "damage", finding } as const;
      expect(await Array.fromAsync(session.items())).toEqual([damage]);
    }
    expect.assertions(1);
  });
});

describe("a session that is deleted while its log is written anew", () => {
  /** Deletes before an operation of a compaction: the whole folder, or the log alone. */
  const cases: ReadonlyArray<readonly [string, boolean, (remove: () => void) => FileSystem]> = [
    ["before the draft is made", true, (remove) => ({ ...SYSTEM, create: after(remove, SYSTEM.create) })],
    ["while it is read", false, (remove) => ({ ...SYSTEM, write: after(remove, SYSTEM.write) })],
    ["when the draft is written", true, (remove) => ({ ...SYSTEM, close: after(remove, SYSTEM.close) })],
    [
      "before the draft takes its place",
      false,
      (remove) => ({ ...SYSTEM, close: after(remove, SYSTEM.close) }),
    ],
  ];
  test.each(cases)("%s is gone, and does not come back (whole folder: %p)", async (_, isWhole, systemOf) => {
    using place = new Place();
    const path = place.put("s", "zstd", LOG);
    const folder = dirname(path);
    const remove = () => rmSync(isWhole ? folder : path, { recursive: true, force: true });
    const error = await rejectionOf(compactRoot(place.root, "s", systemOf(remove)));
    expect(error).toBeInstanceOf(SessionGoneError);
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  });

  test("after its repair was planned is gone", async () => {
    using place = new Place();
    const path = place.put("s", "zstd", LOG.subarray(0, -5));
    await using repairer = await repairJsonl(place.root);
    const [step] = (await repairer.plan()).steps;
    if (step === undefined) throw new Error("nothing to repair");
    rmSync(dirname(path), { recursive: true });
    expect(await rejectionOf(repairer.carryOut(step))).toBeInstanceOf(SessionGoneError);
  });
});

/** The same operation, with something done before. */
function after<A extends readonly unknown[], R>(first: () => void, operation: (...args: A) => R) {
  return (...args: A): R => {
    first();
    return operation(...args);
  };
}
