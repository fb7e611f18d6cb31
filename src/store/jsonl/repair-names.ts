import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { draftName } from "./layout.ts";

/* The names of what a repair leaves beside a log, and what may have such a name already. */

export interface RepairNames {
  /** The file that is repaired: where a link in the place of a log leads to, so that the link stays one. */
  readonly path: string;
  readonly backup: string;
  readonly quarantine: string;
}

const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);
/** Bytes compared at once. */
const WINDOW = 1024 * 1024;

/**
 * The first number of which both names are free. What was left by a repair that was killed is used again: a backup with
 * the bytes of the log, and the quarantine file beside it where `isSame` says that it would be written just so. Whatever
 * else has such a name is somebody's, and stays as it is.
 * @throws a system error
 */
export async function repairNames(
  log: string,
  isSame: (names: RepairNames) => Promise<boolean>,
): Promise<RepairNames> {
  const path = realLog(log);
  for (let n = 1; ; n += 1) {
    const names = { path, backup: `${path}.backup-${n}`, quarantine: `${path}.quarantine-${n}` };
    const isBackupThere = isThere(names.backup);
    if (isBackupThere && !isSameFile(names.backup, path)) continue;
    if (!isThere(names.quarantine)) return names;
    // It is made after the backup, and never stays alone.
    if (isBackupThere && (await isSame(names))) return names;
  }
}

/** What a repair writes under names that do not count. Those of one that was killed are told by its log's name. */
export function repairDrafts(path: string): readonly [log: string, quarantine: string, backup: string] {
  const key = Bun.hash(basename(path)).toString(16);
  const draft = (what: number) => join(dirname(path), draftName(`${key}-${what}`));
  return [draft(1), draft(2), draft(3)];
}

/** What a compaction writes under a name that does not count. */
export function compactionDraft(path: string): string {
  return join(dirname(path), draftName(`${Bun.hash(basename(path)).toString(16)}-c`));
}

/** The file itself, where a link lies in the place of a log. @throws a system error */
export function realLog(path: string): string {
  return lookAt(path)?.isSymbolicLink() === true ? realpathSync(path) : path;
}

/** Whether anything has this name, also a link that leads nowhere. */
export function isThere(path: string): boolean {
  return lookAt(path) !== undefined;
}

/** Whether two names are of one file, or of two with the same bytes. A link is no file: it may lead to the other one. */
export function isSameFile(path: string, other: string): boolean {
  const [a, b] = [lookAt(path), lookAt(other)];
  if (a?.isFile() !== true || b?.isFile() !== true) return false;
  if (a.dev === b.dev && a.ino === b.ino) return true;
  return a.size === b.size && hasSameBytes(path, other);
}

function hasSameBytes(path: string, other: string): boolean {
  try {
    using comparison = new Comparison(path);
    const file = openSync(other, READ);
    try {
      const bytes = Buffer.allocUnsafe(WINDOW);
      for (;;) {
        const count = readSync(file, bytes, 0, WINDOW, null);
        if (count === 0) return comparison.isAtEnd();
        if (!comparison.take(bytes.subarray(0, count))) return false;
      }
    } finally {
      closeSync(file);
    }
  } catch {
    return false; // one that may not be read is not known to be the same
  }
}

/** Compares a file with bytes as they come. */
export class Comparison implements Disposable {
  readonly #file: number;
  #at = 0;

  /** @throws a system error */
  constructor(path: string) {
    this.#file = openSync(path, READ);
  }

  /** Whether these bytes are the next ones. */
  take(bytes: Uint8Array): boolean {
    const own = Buffer.allocUnsafe(bytes.length);
    for (let filled = 0; filled < own.length; ) {
      const count = readSync(this.#file, own, filled, own.length - filled, this.#at);
      if (count === 0) return false;
      filled += count;
      this.#at += count;
    }
    return own.equals(bytes);
  }

  isAtEnd(): boolean {
    return this.#at === fstatSync(this.#file).size;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Nothing where nothing is. */
function lookAt(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}
