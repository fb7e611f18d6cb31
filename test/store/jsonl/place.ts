import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { recordTexts } from "../../../src/session/records.ts";
import { PersistenceCoordinator } from "../../../src/store/coordinator.ts";
import type { FileSystem } from "../../../src/store/file-system.ts";
import { JsonlBackend } from "../../../src/store/jsonl/backend.ts";
import { openJsonl, openJsonlReadOnly } from "../../../src/store/jsonl/index.ts";
import type { Encoding } from "../../../src/store/jsonl/layout.ts";
import { JsonlReader } from "../../../src/store/jsonl/reader.ts";
import { JsonlWriter } from "../../../src/store/jsonl/writer.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { runInProcess } from "../../../src/store/storage-thread.ts";
import { drain } from "../../contract/streaming.ts";

export const ENCODINGS = ["zstd", "none"] as const;
/** Names of the format, written out: the tests must not take them from what they test. */
export const LOG_NAMES = { zstd: "session.jsonl.zstd", none: "session.jsonl" } as const;
const clock = () => 1_700_000_000_000;
/** A folder in memory where there is one, for tests that sync thousands of times and are not about the disk. */
const MEMORY = "/dev/shm";

function newFolder(): string {
  return mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "holdfast-jsonl-"));
}

/** A folder of its own for one session root, removed when disposed. */
const LOCK_FILES = [".holdfast.lock", ".holdfast.owner"];

export class Place implements Disposable {
  readonly folder: string;
  readonly root: string;

  /** Without a `root` an empty one is made; the path of another is taken as it is, below `folder`. */
  constructor(folder = newFolder(), root?: string) {
    this.folder = folder;
    this.root = join(folder, root ?? "root");
    if (root === undefined) mkdirSync(this.root);
  }

  /** Opens the root for writing; the writer runs on the calling thread. */
  open(encoding?: Encoding): Promise<SessionPersistence> {
    const options = { root: this.root, clock, chunkWindowMs: 0, thread: "process" } as const;
    return openJsonl({ ...options, ...(encoding === undefined ? {} : { encoding }) });
  }

  /** The same store, without a lock, over a disk that can be made to fail. */
  openOn(disk: FileSystem, encoding: Encoding = "zstd"): SessionPersistence {
    const resources = new AsyncDisposableStack();
    const reader = resources.use(new JsonlReader(this.root, false));
    const writer = resources.adopt(runInProcess(new JsonlWriter(this.root, encoding, disk)), (client) =>
      client.close(),
    );
    const backend = new JsonlBackend(this.root, encoding, reader, writer, resources);
    return new PersistenceCoordinator(backend, { clock, chunkWindowMs: 0 });
  }

  read(): Promise<SessionPersistence> {
    return openJsonlReadOnly({ root: this.root, clock });
  }

  /** Path of a log whose id needs no escapes. */
  log(id: string, encoding: Encoding, project = "--p--"): string {
    return join(this.root, project, id, LOG_NAMES[encoding]);
  }

  /** Puts the bytes of a log in its place, as another program would. */
  put(id: string, encoding: Encoding, bytes: Uint8Array, project?: string): string {
    return this.file(this.log(id, encoding, project), bytes);
  }

  /** Makes a file with its folders. */
  file(path: string, bytes: Uint8Array | string): string {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    return path;
  }

  /** Everything below the root, with a hash of the bytes of each file. Links are not followed. */
  contents(folder = ""): Record<string, string> {
    const entries = readdirSync(join(this.root, folder), { withFileTypes: true });
    const contents: Record<string, string> = {};
    for (const entry of entries) {
      const name = join(folder, entry.name);
      // The lock of the root comes with opening it.
      if (LOCK_FILES.includes(name)) continue;
      if (entry.isDirectory()) Object.assign(contents, { [name]: "folder" }, this.contents(name));
      else if (entry.isFile()) contents[name] = Bun.hash(readFileSync(join(this.root, name))).toString(16);
      else contents[name] = "other";
    }
    return contents;
  }

  /** Removes everything below the root. */
  clear(): void {
    for (const name of readdirSync(this.root)) rmSync(join(this.root, name), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What a stored log yields, event by event. */
export interface Reading {
  readonly texts: readonly string[];
  readonly torn: boolean;
  /** Why it ended before its end. */
  readonly fault?: unknown;
}

/** Reads a log as it is stored, from its first event to its last one or to its first fault. */
export async function readLog(store: SessionPersistence, id: string): Promise<Reading> {
  const stream = await store.stream(id);
  const { records, ...rest } = await drain(stream);
  return { texts: records.flatMap(recordTexts), torn: stream.torn(), ...rest };
}
