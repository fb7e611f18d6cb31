import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import type { SessionPersistence, SessionSnapshot } from "../../src/store/persistence.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { Bundle } from "../fixtures/bundle.ts";
import { Child } from "../fixtures/child.ts";
import { STORES, type StoreKind } from "../fixtures/host-lab.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { Place, put } from "./sqlite/place.ts";

const IDS = ["one", "two", "three"];

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(join(import.meta.dir, "..", "fixtures", "crash-writer.ts"));
});
afterAll(() => program[Symbol.asyncDispose]());

/** The same "random" numbers each time. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** What processes that were killed had acknowledged: session, seq, hash of the text. */
class Acknowledged {
  readonly #hashes = new Map<string, string>();

  add(line: string): void {
    const [id = "", seq = "", hash = ""] = line.split(" ");
    if (hash !== "") this.#hashes.set(`${id} ${seq}`, hash);
  }

  get size(): number {
    return this.#hashes.size;
  }

  /** Checks that every one of this session is in the log, unchanged; returns their number. */
  check(id: string, { log }: SessionSnapshot): number {
    const texts = [...log.texts()];
    let count = 0;
    for (const [key, hash] of this.#hashes) {
      const [session, seq] = key.split(" ");
      if (session !== id) continue;
      expect([key, Bun.hash(texts[Number(seq)] ?? "").toString(36)]).toEqual([key, hash]);
      count += 1;
    }
    return count;
  }
}

/** Runs the writer and kills it after this many lines of its output. */
async function crashAfter(
  kind: StoreKind,
  path: string,
  lines: number,
  acknowledged: Acknowledged,
): Promise<void> {
  await using child = new Child(program.path, [kind, path, ...IDS]);
  for (let count = 0; count < lines; count += 1) acknowledged.add((await child.next()) ?? "");
  await child.kill();
  // Printed before it died, read after.
  for (const line of await child.rest()) acknowledged.add(line);
}

/** A valid history for a provider: each call has one result. */
function expectPaired({ log, projections }: SessionSnapshot, id: string): void {
  const blocks = projections.messages(log, id).flatMap(({ content }) => [...content]);
  const calls = blocks.flatMap((block) => (block.type === "tool-call" ? [block.id] : []));
  const results = blocks.flatMap((block) => (block.type === "tool-result" ? [block.toolCallId] : []));
  expect(results.toSorted()).toEqual(calls.toSorted());
}

function open(kind: StoreKind, path: string): Promise<SessionPersistence> {
  const options = { clock: () => 0, chunkWindowMs: 0, thread: "process" as const };
  return kind === "sqlite"
    ? openSqlite({ ...options, path })
    : openJsonl({ ...options, root: path, encoding: kind });
}

describe("kill -9", () => {
  test.each(STORES)(
    "at any moment, four times over, in %s: every acknowledged event is there, unchanged and in order",
    async (kind) => {
      await using folder = await TempFolder.create();
      const path = folder.at("store.db");
      const acknowledged = new Acknowledged();
      const random = numbers(20_260_115);
      for (let round = 0; round < 4; round += 1) {
        const { value = 0 } = random.next();
        await crashAfter(kind, path, 1 + Math.floor(value * 1_500), acknowledged);

        await using store = await open(kind, path);
        let checked = 0;
        for (const { id } of (await store.list()).items) {
          const inspected = await store.inspect(id);
          checked += acknowledged.check(id, inspected);
          expect([...inspected.log].map(({ seq }) => seq)).toEqual([...inspected.log].map((_, k) => k));
          expect(inspected.projections.openWork.turn).toBeUndefined();
          expectPaired(inspected, id);
          const stored = await store.readFrom(id, 0, { limit: inspected.log.length });
          expect(stored).toEqual(inspected.log.slice(0, inspected.log.length - inspected.closers.length));
        }
        expect(checked).toBe(acknowledged.size);
      }
      expect(acknowledged.size).toBeGreaterThan(1_000);
    },
    60_000,
  );

  for (const moment of ["store.db.lock", "store.db.owner", "store.db.creating", "store.db", "store.db-wal"]) {
    test(`while the store is being made, once ${moment} is there: the next opening works`, async () => {
      using place = new Place();
      {
        await using child = new Child(program.path, ["sqlite", place.path, ...IDS]);
        expect(await child.next()).toBe("opening");
        for (;;) {
          const names = readdirSync(place.folder);
          // The last of them, so that a moment that was missed ends the wait as well.
          if (names.includes(moment) || names.includes("store.db-wal")) break;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      await using store = await place.open();
      await put(store, "after", [{ type: "session/title", data: 1 }]);
      expect((await store.inspect("after")).log.length).toBe(1);
    });
  }
});
