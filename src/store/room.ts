import { constants, type FileHandle, open, statfs, unlink } from "node:fs/promises";

/** Bytes that must be writable before a disk that was full counts as having room again. */
const ROOM = 1024 * 1024;

/**
 * Whether a disk takes more again: tried with a file at `path`, which is gone afterwards. What the file system says of its
 * free space knows nothing of quotas. Runs beside this thread, and throws nothing.
 */
export async function hasRoom(folder: string, path: string): Promise<boolean> {
  let file: FileHandle | undefined;
  try {
    // Looked at first, so that the trial never takes what an append needs.
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < 2 * ROOM) return false;
    await unlink(path).catch(() => undefined);
    file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    // Without its name nothing of it is left, however this process ends.
    await unlink(path);
    await file.writeFile(Buffer.alloc(ROOM));
    await file.datasync();
    return true;
  } catch {
    return false;
  } finally {
    await file?.close().catch(() => undefined);
  }
}
