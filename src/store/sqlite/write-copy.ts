import { rmSync } from "node:fs";
import { errorCode, toStorageError } from "../errors.ts";
import type { FileSystem } from "../file-system.ts";
import { QuietAccess } from "./quiet-access.ts";
import { syncFile } from "./repair-files.ts";
import vacuumInto from "./sql/vacuum-into.sql" with { type: "text" };

/**
 * Writes what a database holds into a new file, durable and for its user alone: one state of it, with all that was
 * committed before the call. Takes no lock and keeps no writer waiting, also where one writes meanwhile.
 * @throws StoreNotFoundError, UnsupportedFormatError, CorruptError, also where the end of the log cannot be read
 */
export function writeCopy(path: string, copy: string, system: FileSystem): void {
  using access = new QuietAccess(path);
  const hidden = access.hiddenEnd();
  if (hidden !== undefined) throw hidden;
  access.read((database) => {
    // This may be its second try.
    rmSync(copy, { force: true });
    system.close(system.create(copy));
    try {
      database.query(vacuumInto).run(copy);
    } catch (error) {
      // Of what else goes wrong, such as a full disk, the copy is the place.
      if (errorCode(error)?.startsWith("SQLITE_CORRUPT") !== true) throw error;
      throw toStorageError(error, "The database could not be copied", { path });
    }
  });
  syncFile(copy, system);
}
