import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventDraft } from "../../../src/session/events.ts";
import type { SessionPersistence } from "../../../src/store/persistence.ts";
import { openSqlite } from "../../../src/store/sqlite/index.ts";

/** Length of the shortest string that is quoted in these tests: their texts are small. */
const LEAST_QUOTED = 128;
/** A folder in memory where there is one: these tests sync thousands of times, and are not about the disk. */
const MEMORY = "/dev/shm";

function newFolder(): string {
  return mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "holdfast-sqlite-"));
}

/** A folder of its own for one SQLite store, removed when disposed. */
export class Place implements Disposable {
  readonly folder: string;
  readonly path: string;

  constructor(folder = newFolder()) {
    this.folder = folder;
    this.path = join(folder, "store.db");
  }

  open(
    path = this.path,
    thread: "worker" | "process" = "process",
    leastQuoted = LEAST_QUOTED,
  ): Promise<SessionPersistence> {
    return openSqlite({ path, thread, leastQuoted, clock: () => 1_700_000_000_000, chunkWindowMs: 0 });
  }

  /** Makes a store that holds these sessions, and closes it. */
  async fill(sessions: Readonly<Record<string, readonly EventDraft[]>>): Promise<void> {
    await using store = await this.open();
    for (const [id, drafts] of Object.entries(sessions)) await put(store, id, drafts);
  }

  /** A connection that knows nothing of Holdfast. */
  raw(path = this.path): Database {
    return new Database(path, { readwrite: true, create: true, strict: true });
  }

  /** Runs statements as somebody with a shell would. */
  run(...statements: readonly string[]): void {
    using database = this.raw();
    for (const statement of statements) database.run(statement);
  }

  /** Every file below the folder with its bytes, and the folders. */
  contents(): Record<string, string> {
    const names = readdirSync(this.folder, { recursive: true, encoding: "utf8" }).toSorted();
    return Object.fromEntries(
      names.map((name) => {
        const path = join(this.folder, name);
        if (!statSync(path).isFile()) return [name, "no file"];
        return [name, Bun.hash(readFileSync(path)).toString(16)];
      }),
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Stores a session and closes it again. */
export async function put(
  store: SessionPersistence,
  id: string,
  drafts: readonly EventDraft[],
): Promise<void> {
  await using session = await store.create({ version: 0, id, createdAt: 1 });
  await session.log.appendAll(drafts);
}
