import { expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEvent } from "../../src/session/events.ts";
import { LogDigest } from "../../src/store/digest.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import { openMemory } from "../../src/store/memory/index.ts";
import type { SessionPersistence, SessionSnapshot } from "../../src/store/persistence.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { projected } from "../contract/model.ts";
import { headerOf } from "../contract/rig.ts";
import { arbitrarySession, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/* Whatever a session holds, and however it was cut into batches: all stores give the same. */

const RUNS = 24;
const NAMES = ["memory", "sqlite", "zstd", "none"] as const;
type Name = (typeof NAMES)[number];

class Stores implements AsyncDisposable {
  readonly #folder: TempFolder;
  readonly #open = new Map<Name, SessionPersistence>();

  private constructor(folder: TempFolder) {
    this.#folder = folder;
  }

  static async open(): Promise<Stores> {
    const stores = new Stores(await TempFolder.create());
    for (const name of NAMES) stores.#open.set(name, await stores.#make(name));
    return stores;
  }

  get(name: Name): SessionPersistence {
    const store = this.#open.get(name);
    if (store === undefined) throw new Error(`no store ${name}`);
    return store;
  }

  /** Opens what lasts anew, so that nothing comes from a cache. */
  async restart(): Promise<void> {
    for (const name of NAMES) {
      if (name === "memory") continue;
      await this.get(name).close();
      this.#open.set(name, await this.#make(name));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#open.values()) await store.close();
    await this.#folder[Symbol.asyncDispose]();
  }

  #make(name: Name): Promise<SessionPersistence> {
    const options = { clock: () => 0, chunkWindowMs: 0, thread: "process" as const };
    switch (name) {
      case "memory":
        return Promise.resolve(openMemory(options));
      case "sqlite":
        return openSqlite({ ...options, path: this.#folder.at("store.db") });
      default:
        return openJsonl({ ...options, root: this.#folder.at(name), encoding: name });
    }
  }
}

async function write(
  store: SessionPersistence,
  id: string,
  events: readonly SessionEvent[],
  sizes: readonly number[],
): Promise<void> {
  await using _ = await store.create(headerOf(id));
  for (const batch of inBatches(events, sizes)) await store.append(id, batch);
}

/** All that a reader can learn of a session, as plain data. */
function seen({ header, log, projections, closers, torn, unknownTypes }: SessionSnapshot) {
  const texts = [...log.texts()];
  const digest = new LogDigest();
  for (const record of log.records()) digest.add(record);
  return {
    header,
    texts,
    digest: digest.hex(),
    closers,
    torn,
    unknownTypes,
    projected: projected({ log, projections }, header.id),
  };
}

async function everyPage(store: SessionPersistence, id: string, length: number): Promise<unknown[]> {
  const pages: unknown[] = [];
  for (let from = 0; from <= length; from += 1) {
    pages.push(await store.readFrom(id, from, { limit: (from % 7) + 1 }));
  }
  pages.push(await store.readFrom(id, 0, { limit: length }));
  return pages;
}

test("any session is the same in memory, in SQLite, and in a log of either encoding", async () => {
  await using stores = await Stores.open();
  let number = 0;
  const sizesOfAll = fc.tuple(batchSizes(), batchSizes(), batchSizes(), batchSizes());
  await fc.assert(
    fc.asyncProperty(arbitrarySession(), sizesOfAll, async (drafts, sizes) => {
      number += 1;
      const id = `session ${number}`;
      const events = toEvents(drafts);
      for (const [k, name] of NAMES.entries()) await write(stores.get(name), id, events, sizes[k] ?? [1]);
      await stores.restart();
      const expected = seen(await stores.get("memory").inspect(id));
      const pages = await everyPage(stores.get("memory"), id, events.length);
      for (const name of NAMES) {
        const store = stores.get(name);
        expect(await everyPage(store, id, events.length)).toEqual(pages);
        expect(seen(await store.inspect(id))).toEqual(expected);
        // Once closed, the closers are events like others.
        expect(seen(await store.load(id))).toEqual({ ...expected, closers: [] });
        expect(await everyPage(store, id, events.length)).toEqual(
          await everyPage(stores.get("memory"), id, events.length),
        );
      }
    }),
    { numRuns: RUNS },
  );
}, 60_000);
