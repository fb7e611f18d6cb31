import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { HoldfastError } from "./errors.ts";
import { findLogs } from "./jsonl/directory.ts";
import { QuarantineReader } from "./quarantine-reader.ts";
import type { StoreName } from "./store-name.ts";
import { trashOf } from "./trash.ts";

/** Name of the folder of one command, as `TrashFolder` makes it. */
const COMMAND_FOLDER = /^\d{8}T\d{6}Z(-\d+)?$/;
const QUARANTINE = /\.quarantine-\d+$/;

/**
 * Where sessions of these ids lie in the trash of a store, each by its id: the folder or file of the last one, as far as
 * that can be looked at. Nothing of them is decoded.
 */
export function findTrashed(store: StoreName, ids: readonly string[]): ReadonlyMap<string, string> {
  const trash = trashOf(store);
  const found = new Map<string, string>();
  for (const name of namesIn(trash)
    .filter((entry) => COMMAND_FOLDER.test(entry))
    .sort()
    .reverse()) {
    const left = ids.filter((id) => !found.has(id));
    if (left.length === 0) break;
    const folder = join(trash, name);
    const rows = rowsIn(folder);
    for (const id of left) {
      const path = logIn(folder, id) ?? rows.get(id);
      if (path !== undefined) found.set(id, path);
    }
  }
  return found;
}

function logIn(folder: string, id: string): string | undefined {
  try {
    const [log] = findLogs(folder, id);
    return log === undefined || log.key[2] === "" ? log?.path : dirname(log.path);
  } catch (error) {
    return unknown(error);
  }
}

/** The quarantine files with the rows of one session each, by its id. */
function rowsIn(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const name of namesIn(folder).filter((entry) => QUARANTINE.test(entry))) {
    const path = join(folder, name);
    try {
      using reader = new QuarantineReader(path);
      if (reader.head.session !== undefined) found.set(reader.head.session, path);
    } catch (error) {
      unknown(error);
    }
  }
  return found;
}

/** What cannot be looked at proves nothing. */
function unknown(error: unknown): undefined {
  if (!(error instanceof HoldfastError)) throw error;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
