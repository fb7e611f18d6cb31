import { toStorageError } from "../../../../store/errors.ts";

const BEGINNING = 64;

/** The first bytes of a file, by which a reader knows its own format. @throws StorageFailedError */
export async function beginningOf(path: string, bytes = BEGINNING): Promise<Uint8Array> {
  try {
    return await Bun.file(path).slice(0, bytes).bytes();
  } catch (error) {
    throw toStorageError(error, "The file could not be read", { path });
  }
}
