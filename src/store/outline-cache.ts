import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { z } from "zod";
import { CALL_STATES } from "../session/audit/index.ts";
import { compileChecker } from "../session/schema-checker.ts";
import type { Revision } from "./backend.ts";
import { HoldfastError } from "./errors.ts";
import { storePaths } from "./open-store.ts";
import type { KnownBeginning, Outlined, OutlineReading } from "./outline-reading.ts";
import { resolveStorePath } from "./paths.ts";
import { PrivateFile } from "./private-file.ts";
import { formatStoreName, parseStoreName, type StoreName } from "./store-name.ts";

/*
 * What is known of the sessions of a store, so that they need not be read again: one file a store, outside of it. Nothing
 * hangs on it. It may be deleted at any time, and whatever is wrong with it, it is made anew.
 */

/** To be counted up whenever an entry means something else, also where only the rules changed that it came from. */
const VERSION = 3;
const TYPE = "holdfast-outlines";
/** No cache is that large; what is, is not read. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The first line names a path, each character of it perhaps as an escape. */
const MOST_HEAD = 32 * 1024;
const FILE_NAME = /^outlines-[0-9a-f]{32}\.jsonl$/;

const count = z.number().int().nonnegative();
/**
 * Unlike a problem of this user or of the moment, these come from what is stored alone. Damage is looked for each time: it
 * may be mended behind a revision that stays the same.
 */
const STATES = ["ok", "interrupted", "torn", "empty", "unsupported"] as const;

const outlineSchema = z.object({
  title: z.string().exactOptional(),
  firstTime: count.exactOptional(),
  lastTime: count.exactOptional(),
  turns: count,
  events: count,
  bytes: count,
  openTurn: count.exactOptional(),
});
const endSchema = z.object({
  mark: z.object({ seq: count, proof: z.string() }),
  turns: z.object({
    turn: count.exactOptional(),
    step: count.exactOptional(),
    lastTurn: count,
    lastStep: count,
    hasBegun: z.boolean(),
    calls: z.array(z.tuple([z.string(), z.enum(CALL_STATES)])),
  }),
});
const entrySchema = z.object({
  id: z.string().min(1),
  revision: z.string(),
  state: z.enum(STATES),
  reason: z.string().exactOptional(),
  outline: outlineSchema.exactOptional(),
  isWhole: z.boolean(),
  end: endSchema.exactOptional(),
});
const headSchema = z.object({
  type: z.literal(TYPE),
  version: z.literal(VERSION),
  store: z.string(),
  /** Which file the sessions are in, where that is one: another one at its path may have the same revisions. */
  file: z.string(),
  checksum: count,
});

type Entry = z.infer<typeof entrySchema>;

const checkEntry = compileChecker(entrySchema);
const isEntry = (value: unknown): value is Entry => checkEntry(value);
const isCacheable = compileChecker(entrySchema.shape.state);

/** The cached outlines of one store. Nothing here throws: without a file that can be used it is empty. */
export class OutlineCache {
  readonly #path: string | undefined;
  readonly #store: string;
  readonly #file: string;
  readonly #entries = new Map<string, Entry>();
  #isChanged = false;

  private constructor(path: string | undefined, store: string, file: string) {
    this.#path = path;
    this.#store = store;
    this.#file = file;
  }

  /**
   * The cache of a store, as its file has it.
   * @param folder of all caches; made when something is kept. Without one nothing is
   */
  static open(folder: string | undefined, name: StoreName): OutlineCache {
    try {
      const real = resolveStorePath(name.path);
      const store = formatStoreName({ kind: name.kind, path: real });
      const hash = new Bun.CryptoHasher("sha256").update(store).digest("hex").slice(0, 32);
      const path = folder === undefined ? undefined : join(folder, `outlines-${hash}.jsonl`);
      // Nothing is ever made in a store, whatever the environment says.
      const isInside = path !== undefined && isWithin(path, storePaths({ kind: name.kind, path: real }));
      const cache = new OutlineCache(
        isInside ? undefined : path,
        store,
        fileOf({ kind: name.kind, path: real }),
      );
      cache.#load();
      return cache;
    } catch (error) {
      if (error instanceof HoldfastError) return new OutlineCache(undefined, "", "");
      throw error;
    }
  }

  /** What is known of a session at this very revision. */
  get(id: string, revision: Revision | undefined): Outlined | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.revision !== revision) return undefined;
    const { id: _, revision: __, end: ___, ...outlined } = entry;
    return outlined;
  }

  /** What is known of a session as it was, and may have grown since. */
  beginning(id: string): KnownBeginning | undefined {
    const { outline, end } = this.#entries.get(id) ?? {};
    return outline === undefined || end === undefined ? undefined : { outline, end };
  }

  /** @param reading all that there was at the revision */
  put(id: string, reading: OutlineReading & { readonly revision: Revision }): void {
    const entry: unknown = { id, ...reading };
    if (!isCacheable(reading.state) || !isEntry(entry)) {
      this.forget(id);
      return;
    }
    this.#entries.set(id, entry);
    this.#isChanged = true;
  }

  forget(id: string): void {
    if (this.#entries.delete(id)) this.#isChanged = true;
  }

  /** Forgets all other sessions. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#entries.keys()) if (!ids.has(id)) this.forget(id);
  }

  /** Writes the file, where something changed. */
  async save(): Promise<void> {
    const path = this.#path;
    if (path === undefined || !this.#isChanged) return;
    const entries = JSON.stringify([...this.#entries.values()]);
    const checksum = Bun.hash.crc32(entries);
    const head = JSON.stringify({
      type: TYPE,
      version: VERSION,
      store: this.#store,
      file: this.#file,
      checksum,
    });
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      using file = new PrivateFile(path, { replace: true });
      await file.write(`${head}\n${entries}\n`);
      file.publish();
      this.#isChanged = false;
      sweep(dirname(path));
    } catch {
      // A folder that is not there for this user, or a full disk: the next one reads again.
    }
  }

  #load(): void {
    const text = this.#path === undefined ? undefined : readOwn(this.#path);
    const [head = "", entries = ""] = text?.split("\n") ?? [];
    const known = headSchema.safeParse(tryParse(head)).data;
    if (
      known?.store !== this.#store ||
      known.file !== this.#file ||
      known.checksum !== Bun.hash.crc32(entries)
    )
      return;
    const values = tryParse(entries);
    if (!Array.isArray(values) || !values.every(isEntry)) return;
    for (const entry of values) this.#entries.set(entry.id, entry);
  }
}

/** Which file a database is; the revisions of logs tell it by themselves. */
function fileOf({ kind, path }: StoreName): string {
  const stat = kind === "sqlite" ? statSync(path, { bigint: true, throwIfNoEntry: false }) : undefined;
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}

/** Takes caches away of which the store is gone: what was in it is nobody's business any more. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!FILE_NAME.test(name)) continue;
    const [head = ""] = readOwn(join(folder, name), MOST_HEAD)?.split("\n", 1) ?? [];
    const store = headSchema.safeParse(tryParse(head)).data?.store;
    if (store !== undefined && !existsSync(parseStoreName(store).path)) rmSync(join(folder, name));
  }
}

function isWithin(path: string, places: readonly string[]): boolean {
  const real = resolveStorePath(path);
  return places.some((place) => real === place || real.startsWith(place.endsWith(sep) ? place : place + sep));
}

/** The text of a file that is this user's own, or its first bytes. */
function readOwn(path: string, most = Number.POSITIVE_INFINITY): string | undefined {
  let file: number | undefined;
  try {
    // Neither a link is followed nor a pipe waited for.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const stat = fstatSync(file);
    const isOwn = process.getuid === undefined || stat.uid === process.getuid();
    if (!stat.isFile() || !isOwn || stat.size > MAX_BYTES) return undefined;
    if (stat.size <= most) return readFileSync(file, "utf8");
    const bytes = Buffer.alloc(most);
    return bytes.toString("utf8", 0, readSync(file, bytes));
  } catch {
    return undefined; // What cannot be read is no cache: everything is read anew.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a file that was cut off or changed: no cache
  }
}
