import { Database } from "bun:sqlite";
import { join } from "node:path";
import { NotFoundError, toStorageError } from "../errors.ts";
import { type FileSystem, SYSTEM } from "../file-system.ts";
import type { Finding } from "../finding.ts";
import { headerChecksum, sessionKey } from "./keys.ts";
import { setAside } from "./repair-rows.ts";
import selectSession from "./sql/select-session.sql" with { type: "text" };

/**
 * Writes all rows of a session into a quarantine file in `folder`, durably, and decodes none of them.
 * @returns the file. @throws NotFoundError, StorageFailedError, CorruptError where pages of the database are damaged
 */
export function exportRows(
  path: string,
  id: string,
  reason: Finding,
  folder: string,
  system: FileSystem = SYSTEM,
): string {
  const database = new Database(path, { readonly: true, create: false, strict: true });
  try {
    const key = sessionKey(id);
    const row = database
      .query<{ readonly number: number; readonly header: string }, { readonly key: string }>(selectSession)
      .get({ key });
    if (row === null) throw new NotFoundError(id, path);
    const { number: session, header } = row;
    const quarantine = join(folder, `session-${session}.quarantine-1`);
    const made = { how: "kept", key, header, checksum: headerChecksum(key, header) } as const;
    const changes = [{ session, from: 0, closers: [], header: made }];
    setAside(database, path, { id, reason, quarantine, changes }, system);
    return quarantine;
  } catch (error) {
    throw toStorageError(error, "The rows of the session could not be kept", { path, sessionId: id });
  } finally {
    database.close();
  }
}
