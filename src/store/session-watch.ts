import { type BigIntStats, type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { resolveStorePath } from "./paths.ts";
import type { StoreName } from "./store-name.ts";

/** Where the system tells of no changes, as on many network disks, the files are looked at so often. */
const LOOK_MS = 250;
const FIRST_LOOK_MS = 4;

/**
 * Tells when the files that a session lies in may have changed, written by whatever process. Reads none of them: it looks
 * at their size and time only, and lets the system say when that is worth it.
 */
class SessionWatch implements Disposable {
  readonly #paths: readonly string[];
  readonly #watcher: FSWatcher | undefined;
  readonly #isLate: boolean;
  #delay = FIRST_LOOK_MS;
  #state: string;
  #isChanged = false;
  #wake: () => void = () => {};

  /**
   * @param paths files of one folder; they need not exist
   * @param isLate whether what was written may be shown to readers later, and without another change of a file, as by
   *   SQLite: its log is written, then synced, then its index in shared memory tells of it. Such a store must be asked.
   */
  constructor(paths: readonly string[], isLate: boolean) {
    this.#paths = paths;
    this.#isLate = isLate;
    this.#state = stateOf(paths);
    this.#watcher = tryWatch(dirname(paths[0] ?? ""), new Set(paths.map((path) => basename(path))), () => {
      this.#isChanged = true;
      this.#wake();
    });
  }

  /** Resolves when there may be something new since the last call resolved, or `signal` is aborted. */
  async change(signal: AbortSignal): Promise<void> {
    while (!this.#isChanged && !signal.aborted) {
      await pause(this.#isLate ? this.#delay : LOOK_MS, signal, (wake) => {
        this.#wake = wake;
      });
      const state = stateOf(this.#paths);
      if (state !== this.#state) this.#isChanged = true;
      this.#state = state;
      if (this.#isLate && !this.#isChanged) {
        this.#delay = Math.min(2 * this.#delay, LOOK_MS);
        return;
      }
    }
    this.#isChanged = false;
    this.#delay = FIRST_LOOK_MS;
  }

  /** Differs when other files lie at the paths: whoever wrote them has ended, or another one has come. */
  get place(): string {
    return this.#paths.map((path) => statOf(path)?.ino ?? "").join(" ");
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#wake();
  }
}

/** A watch of the files that hold this session, which is there. @throws StorageFailedError where its log cannot be found */
export async function watchSession({ kind, path }: StoreName, id: string): Promise<SessionWatch> {
  const resolved = resolveStorePath(path);
  if (kind === "sqlite") return new SessionWatch([resolved, `${resolved}-wal`], true);
  const { findLog } = await import("./jsonl/directory.ts");
  return new SessionWatch([findLog(resolved, id)?.path ?? resolved], false);
}

/** Resolves after so many milliseconds, by `wake`, or with the signal. */
export async function pause(
  ms: number,
  signal: AbortSignal,
  onWake: (wake: () => void) => void = () => {},
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const timer = setTimeout(wake, ms);
  signal.addEventListener("abort", wake);
  onWake(wake);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}

function tryWatch(folder: string, names: ReadonlySet<string>, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, (_, name) => {
      if (name === null || names.has(name)) onChange();
    });
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined; // too many watches, say: looking goes on
  }
}

function stateOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statOf(path);
      return stat === undefined ? "" : `${stat.ino}.${stat.size}.${stat.mtimeNs}`;
    })
    .join(" ");
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
