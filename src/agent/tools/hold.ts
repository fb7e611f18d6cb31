import { type BigIntStats, constants, readlinkSync } from "node:fs";
import { lstat, open } from "node:fs/promises";

/** What was found at a path. */
export interface Held {
  /** What it is. A symbolic link is not followed. */
  readonly stats: BigIntStats;
  /** Where it lies: the path without any link, when that is certain. */
  readonly real: string;
  /** The path to open. */
  readonly via: string;
  /** Whether all this is of one thing. If not, another may have taken its place, and who opens it checks again. */
  readonly isCertain: boolean;
}

/** Finds what lies at a path, and lets `use` go on with it. */
export type Hold = <T>(path: string, use: (held: Held) => Promise<T>) => Promise<T>;

// A descriptor of this kind only stands for a thing: it wakes no device, and closing it drops no lock.
const O_PATH = 0x200000;

/** Takes hold of the thing itself, so that what is checked is what is opened. On Linux only. */
async function grasp<T>(path: string, use: (held: Held) => Promise<T>): Promise<T> {
  const handle = await open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const stats = await handle.stat({ bigint: true });
    const via = `/proc/self/fd/${handle.fd}`;
    const real = linkTarget(via);
    // Without /proc there is no way back to what is held.
    if (real === undefined) return await use({ stats, real: path, via: path, isCertain: false });
    return await use({ stats, real, via, isCertain: true });
  } finally {
    await handle.close();
  }
}

/** Only looks. */
export async function look<T>(path: string, use: (held: Held) => Promise<T>): Promise<T> {
  return use({ stats: await lstat(path, { bigint: true }), real: path, via: path, isCertain: false });
}

/** The surest way that the system has. */
export const hold: Hold = process.platform === "linux" ? grasp : look;

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
