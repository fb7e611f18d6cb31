import { chmodSync, linkSync, lstatSync, renameSync, statSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { ListenError, systemCode } from "./listen-error.ts";

/*
 * A socket file that only its owner can use, from its first moment, and that never takes the place of another one at
 * which somebody listens. It is made under a name of its own, in the same folder, and appears under the path when it is
 * ready. Bun by itself would give it to everybody, refuse a stale one, and remove whatever is at the path when it stops.
 */

/** Longest path that the system takes for a socket, in bytes: 108 on Linux and 104 elsewhere, with a zero at the end. */
const LONGEST_PATH = process.platform === "linux" ? 107 : 103;
/** Files that are beside the socket for a moment while it is made. */
const BESIDE = ".holdfast-";
const BESIDE_LENGTH = BESIDE.length + 16;
/** How often a path is looked at again that changed meanwhile. */
const TRIES = 20;
const RETRY_MS = 25;

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * Makes `start` listen at `path`. `remove` takes the file away, if it is still this one.
 * @throws ListenError
 */
export async function listenOnSocket<S extends { stop(force?: boolean): Promise<void> }>(
  path: string,
  start: (unix: string) => S,
): Promise<{ readonly server: S; readonly remove: () => void }> {
  assertUsable(path);
  if (!hasFolder(path)) throw noFolder(path);
  // Before anything is made: most often it is taken because a Host runs already.
  await findStale(path);
  const own = join(dirname(path), `${BESIDE}${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`);
  const server = privately(path, own, start);
  try {
    chmodSync(own, 0o600);
    const identity = identityOf(own);
    if (identity === undefined) throw new Error("the socket is gone");
    await publish(own, path);
    return { server, remove: () => removeOwn(path, identity) };
  } catch (error) {
    removeQuietly(own);
    await server.stop(true);
    throw error instanceof ListenError ? error : failed(path, error);
  }
}

/**
 * Looks whether a socket can be made at `path`, as far as can be told before its folder is there.
 * @param isYetToBeMade whether a folder that is not there will be by then, such as that of a new store
 * @throws ListenError
 */
export async function assertSocketFree(
  path: string,
  isYetToBeMade: (folder: string) => boolean,
): Promise<void> {
  assertUsable(path);
  if (hasFolder(path)) await findStale(path);
  else if (!isYetToBeMade(dirname(path))) throw noFolder(path);
}

/** @throws ListenError where there never can be one */
function hasFolder(path: string): boolean {
  const folder = dirname(path);
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined || found.isDirectory()) return found !== undefined;
  } catch (error) {
    // Else it would lie below a file.
    if (systemCode(error) !== "ENOTDIR") throw failed(path, error);
  }
  throw new ListenError(
    "listen-failed",
    `The socket cannot lie in what is no folder: ${folder}`,
    "Name another path with --listen.",
  );
}

function noFolder(path: string): ListenError {
  const message = `There is no folder for the socket: ${dirname(path)}`;
  return new ListenError("listen-failed", message, "Make it first.");
}

function assertUsable(path: string): void {
  const folder = dirname(path);
  const bytes = Math.max(Buffer.byteLength(path), Buffer.byteLength(folder) + 1 + BESIDE_LENGTH);
  if (path.includes("\0")) throw new ListenError("listen-failed", "A path holds no NUL", "Name a file.");
  if (bytes > LONGEST_PATH) {
    const most = `${LONGEST_PATH} bytes, and its folder ${LONGEST_PATH - 1 - BESIDE_LENGTH}`;
    throw new ListenError(
      "listen-failed",
      `The path of the socket is too long: ${path}`,
      `It may take ${most}. Name a shorter one.`,
    );
  }
}

/** Listens under a name of its own. Nobody else may connect to what is made meanwhile; folders stay usable. */
function privately<S>(path: string, own: string, start: (unix: string) => S): S {
  const before = process.umask(0o077);
  try {
    return start(own);
  } catch (cause) {
    throw failed(path, cause);
  } finally {
    process.umask(before);
  }
}

/** Gives the socket its path: where there is nothing, or where a socket is at which nobody listens. */
async function publish(own: string, path: string): Promise<void> {
  for (let left = TRIES; left > 0; left -= 1) {
    const stale = await findStale(path);
    if (stale === undefined ? publishNew(own, path) : await replace(own, path, stale)) return;
    await Bun.sleep(RETRY_MS);
  }
  throw new ListenError(
    "socket-in-use",
    `Others are about to listen at ${path}`,
    `Try again. If nobody is, remove the files beside it whose names begin with ${BESIDE}.`,
  );
}

function publishNew(own: string, path: string): boolean {
  try {
    linkSync(own, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
  unlinkSync(own);
  return true;
}

/**
 * Takes the place of a socket at which nobody listens. Two may try: who first gives it another name, made of its number,
 * may replace it. Between that and the renaming nobody else touches the path.
 */
async function replace(own: string, path: string, stale: Identity): Promise<boolean> {
  const claim = join(dirname(path), `${BESIDE}${stale.ino.toString(36)}`);
  try {
    linkSync(path, claim);
  } catch (error) {
    if (["EEXIST", "ENOENT"].includes(systemCode(error))) return false;
    throw error;
  }
  try {
    // Another socket may be there by now, even one of the same number.
    const claimed = identityOf(claim);
    if (claimed === undefined || !isSame(claimed, stale) || (await isListening(claim))) return false;
    renameSync(own, path);
    return true;
  } finally {
    removeQuietly(claim);
  }
}

/** The socket at which nobody listens; nothing where there is no file. @throws ListenError for anything else */
async function findStale(path: string): Promise<Identity | undefined> {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isSocket()) {
    throw new ListenError(
      "listen-failed",
      `There is something at ${path} that is no socket`,
      "It was left as it is. Name another path.",
    );
  }
  if (!(await isListening(path))) return found;
  throw new ListenError(
    "socket-in-use",
    `Something listens at ${path}`,
    "Stop it, or choose another path with --listen.",
  );
}

/** Whether something listens there, as far as can be told. @throws ListenError when it cannot */
async function isListening(path: string): Promise<boolean> {
  try {
    const socket = await Bun.connect({ unix: path, socket: { data: () => undefined } });
    socket.terminate();
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === "ECONNREFUSED" || code === "ENOENT") return false;
    // Nobody who waits long is let in: the queue of one that listens is full.
    if (code === "EAGAIN") return true;
    throw failed(path, error);
  }
}

function removeOwn(path: string, own: Identity): void {
  const found = identityOf(path);
  if (found !== undefined && isSame(found, own)) removeQuietly(path);
}

function identityOf(path: string): Identity | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function isSame(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or the folder is not ours any more.
  }
}

function failed(path: string, cause: unknown): ListenError {
  const message = `Cannot listen at ${path}: ${systemCode(cause)}`;
  return new ListenError("listen-failed", message, "Check --listen and the rights in its folder.", cause);
}
