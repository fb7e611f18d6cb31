import { describe, expect, test } from "bun:test";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openStoreReadOnly } from "../../src/store/open-store.ts";
import { OutlineCache, outlines } from "../../src/store/outlines.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { FEW_STORES, type FewStore, fewSessions, plantTurns } from "../fixtures/few-sessions.ts";
import { withStore } from "../fixtures/stored-sessions.ts";
import type { TempFolder } from "../fixtures/temp-folder.ts";

/** The store, and the sessions of which a body was opened. */
function watched(store: SessionPersistence): { readonly store: SessionPersistence; readonly read: string[] } {
  const read: string[] = [];
  const proxy = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) => {
        // Many sessions are listed page by page; here that is one by one.
        if (key === "list") return target.list({ ...Object(args[0]), limit: 1 });
        if (key === "stream" || key === "inspect" || key === "readFrom") read.push(String(args[0]));
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { store: proxy, read };
}

interface Look {
  /** `id state events`, sorted. */
  readonly found: readonly string[];
  /** Sessions that were read for it, sorted. */
  readonly read: readonly string[];
}

interface LookOptions {
  readonly cache?: string;
  readonly isFresh?: boolean;
  /** The store, where this process has it open. */
  readonly open?: SessionPersistence;
}

/** What one command would see. */
async function look(folder: TempFolder, [, kind]: FewStore, options: LookOptions = {}): Promise<Look> {
  const name = parseStoreName(folder.at(kind));
  await using resources = new AsyncDisposableStack();
  const reader = async () => resources.use(await openStoreReadOnly(name, { clock: () => 0 }));
  const { store, read } = watched(options.open ?? (await reader()));
  const cache = OutlineCache.open(options.cache ?? folder.at("cache"), name);
  const found: string[] = [];
  for await (const { summary, state, outline } of outlines(store, {
    isFresh: options.isFresh === true,
    cache,
  }))
    found.push(`${summary.id} ${state} ${outline?.events}`);
  return { found: found.sort(), read: read.sort() };
}

function few(kind: FewStore): Promise<TempFolder> {
  return fewSessions(kind, async (store) => {
    for (const id of ["a", "b", "c"]) await plantTurns(store, id, { turns: 2 });
  });
}

const ALL = ["a ok 6", "b ok 6", "c ok 6"];
const LINE = '{"type":"session/title","seq":6,"time":1700000000001,"data":{"title":"More"}}';

function logOf(folder: TempFolder, id: string): string {
  return folder.at("logs/--srv-x--", id, "session.jsonl");
}

/** The one file of the cache. */
function cacheFile(folder: TempFolder): string {
  const [name = "", ...others] = readdirSync(folder.at("cache"));
  expect(others).toEqual([]);
  return folder.at("cache", name);
}

describe.each(FEW_STORES)("outlines of %s", (...kind) => {
  test("are read once, and then again only of what changed; what is gone leaves the cache", async () => {
    await using folder = await few(kind);
    expect(await look(folder, kind)).toEqual({ found: ALL, read: ["a", "b", "c"] });
    const written = statSync(cacheFile(folder));
    expect(await look(folder, kind)).toEqual({ found: ALL, read: [] });
    // Where nothing changed, nothing is written.
    expect(statSync(cacheFile(folder)).ino).toBe(written.ino);
    await withStore(
      folder.at(kind[1]),
      async (store) => {
        await store.append("b", [JSON.parse(LINE)]);
        await store.delete("a");
        await plantTurns(store, "d");
      },
      kind[2],
    );
    const changed = ["b ok 7", "c ok 6", "d ok 3"];
    expect(await look(folder, kind)).toEqual({ found: changed, read: ["b", "d"] });
    expect(await look(folder, kind)).toEqual({ found: changed, read: [] });
    expect(readFileSync(cacheFile(folder), "utf8")).not.toContain('"id":"a"');
    expect((await look(folder, kind, { isFresh: true })).read).toEqual(["b", "c", "d"]);
  });

  test("come with the revisions that a store has", async () => {
    await using folder = await few(kind);
    await using store = await openStoreReadOnly(parseStoreName(folder.at(kind[1])), { clock: () => 0 });
    const listed = (await store.list({ revisions: true })).items;
    expect(listed.map(({ id, revision = "" }) => ({ id, revision }))).toEqual([
      ...(await store.listSnapshots()).items,
    ]);
    expect((await store.list()).items.every((item) => !("revision" in item))).toBe(true);
  });

  test("are found in a store that is open for writing", async () => {
    await using folder = await few(kind);
    await withStore(
      folder.at(kind[1]),
      async (store) => {
        const open = store;
        await look(folder, kind, { open });
        await using session = (await store.prepare("c")).publish();
        for (let n = 7; n < 10; n += 1) {
          await session.log.append({ type: "session/title", data: {} });
          const found = ["a ok 6", "b ok 6", `c ok ${n}`];
          expect(await look(folder, kind, { open })).toEqual({ found, read: ["c"] });
          expect(await look(folder, kind, { open })).toEqual({ found, read: [] });
        }
      },
      kind[2],
    );
  });
});

const PLAIN = FEW_STORES[2];

test("a session that was damaged since is not sound because of the cache", async () => {
  await using folder = await few(PLAIN);
  await look(folder, PLAIN);
  const text = readFileSync(logOf(folder, "a"), "utf8");
  writeFileSync(logOf(folder, "a"), text.replace('"seq":2', '"seq":9'));
  truncateSync(logOf(folder, "b"), statSync(logOf(folder, "b")).size - 4);
  mkdirSync(folder.at("logs/other/c"), { recursive: true });
  writeFileSync(folder.at("logs/other/c/session.jsonl"), readFileSync(logOf(folder, "c")));
  const found = ["a corrupt 2", "b torn 5", "c duplicate undefined", "c duplicate undefined"];
  expect((await look(folder, PLAIN)).found).toEqual(found);
  // Damage is looked for each time.
  expect(await look(folder, PLAIN)).toEqual({ found, read: ["a"] });
});

test("a log that lies in a folder of another name is listed, as corrupt", async () => {
  await using folder = await few(PLAIN);
  const project = join(logOf(folder, "a"), "..", "..");
  renameSync(join(project, "a"), join(project, "\u00e4"));
  const found = (await look(folder, PLAIN)).found;
  expect(found).toHaveLength(3);
  expect(found.filter((line) => line.includes("corrupt"))).toHaveLength(1);
});

test("another database at the same path is read anew, whatever its revisions say", async () => {
  const kind = FEW_STORES[0];
  await using folder = await few(kind);
  await look(folder, kind);
  const path = folder.at(kind[1]);
  writeFileSync(`${path}.copy`, readFileSync(path));
  renameSync(`${path}.copy`, path);
  expect((await look(folder, kind)).read).toEqual(["a", "b", "c"]);
  expect((await look(folder, kind)).read).toEqual([]);
});

test("a log that begins with damage is looked at each time, also where its file says that nothing changed", async () => {
  await using folder = await few(PLAIN);
  const path = logOf(folder, "a");
  utimesSync(path, 5, 5);
  await look(folder, PLAIN);
  writeFileSync(path, readFileSync(path, "utf8").replace('{"type":"turn/start"', '["type":"turn/start"'));
  utimesSync(path, 5, 5);
  expect((await look(folder, PLAIN)).found[0]).toBe("a corrupt 0");
});

const BEGIN = '{"type":"turn/start","seq":0,"time":5,"data":{"turn":2}}';
const OTHER_END = '{"type":"turn/end","seq":1,"time":5,"data":{"turn":1,"reason":{"kind":"completed"}}}';

test.each([
  ["empty", []],
  ["interrupted", [BEGIN]],
  ["unsupported", ['{"type":"future/thing","seq":0,"time":5,"data":{}}']],
  // Each record is sound by itself.
  ["corrupt", [BEGIN, OTHER_END]],
] as const)("a state is that of verify: %s", async (state, texts) => {
  await using folder = await few(PLAIN);
  const head = readFileSync(logOf(folder, "a"), "utf8").split("\n")[0];
  writeFileSync(logOf(folder, "a"), [head, ...texts, ""].join("\n"));
  expect((await look(folder, PLAIN)).found[0]).toBe(`a ${state} ${texts.length}`);
});

describe("the cache", () => {
  const again = { found: ALL, read: ["a", "b", "c"] };

  test("is for its user alone", async () => {
    await using folder = await few(PLAIN);
    const umask = process.umask(0);
    try {
      await look(folder, PLAIN);
    } finally {
      process.umask(umask);
    }
    expect(statSync(folder.at("cache")).mode & 0o777).toBe(0o700);
    expect(statSync(cacheFile(folder)).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["empty", () => ""],
    ["cut off", (text: string) => text.slice(0, -9)],
    ["changed in one letter", (text: string) => text.replace('"events":6', '"events":7')],
    ["of another version", (text: string) => text.replace('"version":3', '"version":2')],
    ["of another store", (text: string) => text.replace("jsonl:", "sqlite:")],
    ["no cache at all", () => "Remember the milk.\n"],
    [
      "of another shape",
      (text: string) => {
        const [head = "", entries = ""] = text.replaceAll('"state":"ok"', '"state":"fine"').split("\n");
        return `${head.replace(/"checksum":\d+/, `"checksum":${Bun.hash.crc32(entries)}`)}\n${entries}\n`;
      },
    ],
  ])("is made anew where it is %s", async (_, change) => {
    await using folder = await few(PLAIN);
    await look(folder, PLAIN);
    const path = cacheFile(folder);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, change(text));
    expect(await look(folder, PLAIN)).toEqual(again);
    expect(await look(folder, PLAIN)).toEqual({ found: ALL, read: [] });
  });

  test("is gone without where none can be made, and is never made inside of the store", async () => {
    await using folder = await few(PLAIN);
    writeFileSync(folder.at("file"), "");
    symlinkSync(folder.at("logs"), folder.at("link"));
    const places = [folder.at("file", "cache"), folder.at("logs"), join(folder.at("link"), "new")];
    const before = readdirSync(folder.path, { recursive: true }).sort();
    for (const cache of [...places, ...places]) expect(await look(folder, PLAIN, { cache })).toEqual(again);
    expect(readdirSync(folder.path, { recursive: true }).sort()).toEqual(before);
  });

  test("leads nowhere else: what is a link is no cache, and is replaced", async () => {
    await using folder = await few(PLAIN);
    await look(folder, PLAIN);
    const path = cacheFile(folder);
    const text = readFileSync(path, "utf8");
    writeFileSync(folder.at("elsewhere"), text);
    unlinkSync(path);
    symlinkSync(folder.at("elsewhere"), path);
    expect(await look(folder, PLAIN)).toEqual(again);
    expect(readFileSync(folder.at("elsewhere"), "utf8")).toBe(text);
    expect((await look(folder, PLAIN)).read).toEqual([]);
  });

  test("goes when its store is gone, and another one is written", async () => {
    await using folder = await few(PLAIN);
    await using other = await few(PLAIN);
    const cache = folder.at("cache");
    await look(other, PLAIN, { cache });
    const gone = readdirSync(cache);
    await look(folder, PLAIN, { cache });
    expect(readdirSync(cache)).toHaveLength(2);
    renameSync(other.at("logs"), other.at("moved"));
    unlinkSync(logOf(folder, "a"));
    await look(folder, PLAIN, { cache });
    expect(readdirSync(cache)).toHaveLength(1);
    expect(readdirSync(cache)).not.toEqual(gone);
  });

  test("keeps what was read before it was told to stop", async () => {
    await using folder = await few(PLAIN);
    const name = parseStoreName(folder.at("logs"));
    await using store = await openStoreReadOnly(name, { clock: () => 0 });
    const cache = OutlineCache.open(folder.at("cache"), name);
    for await (const { summary } of outlines(store, { cache })) if (summary.id === "b") break;
    expect((await look(folder, PLAIN)).read).toEqual(["c"]);
  });
});
