import { existsSync, fstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionRecord } from "../../session/records.ts";
import type { Revision } from "../backend.ts";
import { AlreadyExistsError, errorCode, toStorageError } from "../errors.ts";
import { closeFile, type FileSystem, writeAll } from "../file-system.ts";
import { makeDirectory } from "../paths.ts";
import { draftName, type Encoding, logPath } from "./layout.ts";
import { encodeFirstLines, encodeLines } from "./line-encoder.ts";
import { OpenLog } from "./open-log.ts";
import { formatRevision } from "./revision.ts";

const HEADER_TYPE = "session";

export interface NewLog {
  readonly id: string;
  /** The header line as it is to be stored. */
  readonly headerText: string;
  readonly encoding: Encoding;
  readonly records: readonly SessionRecord[];
}

/**
 * Makes a log of its header and its first batch: written and synced as a draft, then published under its name with a
 * link, which never overwrites. Durable when it returns; when it throws nothing is left of it.
 * @throws AlreadyExistsError, StorageFullError, StorageFailedError
 */
export function materialise(
  root: string,
  { id, headerText: given, encoding, records }: NewLog,
  system: FileSystem,
): { readonly log: OpenLog; readonly revision: Revision } {
  const { text: headerText, cwd } = toStoredHeader(given);
  const path = logPath(root, { id, ...(cwd === undefined ? {} : { cwd }) }, encoding);
  const folder = dirname(path);
  const draft = join(folder, draftName(crypto.randomUUID()));
  const texts = records.map(({ text }) => text);
  const bytes = Buffer.concat([
    encodeLines([headerText], encoding, path),
    encodeFirstLines(texts, encoding, path),
  ]);
  let file: number | undefined;
  let isPublished = false;
  try {
    makeDirectory(dirname(folder), system);
    makeDirectory(folder, system);
    file = system.create(draft);
    writeAll(system, file, bytes, path);
    system.fsync(file);
    system.link(draft, path);
    isPublished = true;
    system.remove(draft);
    system.syncFolder(folder);
  } catch (error) {
    if (file !== undefined) closeFile(system, file);
    const isTaken = !isPublished && errorCode(error) === "EEXIST" && existsSync(path);
    discard(isPublished ? [path, draft] : [draft], folder, system);
    if (isTaken) throw new AlreadyExistsError(id);
    throw toStorageError(error, "The log of the session could not be made", { path });
  }
  const last = records.at(-1);
  const end = { size: bytes.length, next: last === undefined ? 0 : last.seq + last.count };
  const revision = formatRevision(fstatSync(file, { bigint: true }));
  return { log: new OpenLog({ path, encoding }, file, end, system), revision };
}

/**
 * A log's header line says its type, first of all, and its delegation depth, also where that is 0. Both are put into the
 * text, which else stays as it is; so does what is no header. What a copy brings along is checked by whoever reads it.
 */
function toStoredHeader(text: string): { readonly text: string; readonly cwd?: string } {
  const header = tryHeader(text);
  if (header === undefined) return { text };
  const { type, cwd, delegationDepth } = header;
  let stored = text.trim();
  if (type === undefined) stored = `{"type":"${HEADER_TYPE}",${stored.slice(1)}`;
  if (delegationDepth === undefined) stored = `${stored.slice(0, -1)},"delegationDepth":0}`;
  return typeof cwd === "string" ? { text: stored, cwd } : { text: stored };
}

function tryHeader(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // not JSON
  }
}

/** Takes back what a failed attempt made. Folders stay when something else lies in them. */
function discard(files: readonly string[], folder: string, system: FileSystem): void {
  for (const file of files) {
    try {
      system.remove(file);
    } catch {
      // It is not there, or what went wrong before counts. A draft is swept when the root is next opened; a log that cannot be taken back
      // is found by whoever makes the session again.
    }
  }
  removeEmptyFolders(folder, system);
}

/** Removes a session's folder and its project's, as far as they are empty. */
export function removeEmptyFolders(folder: string, system: FileSystem): void {
  for (const path of [folder, dirname(folder)]) {
    try {
      system.removeFolder(path);
    } catch (error) {
      // It was never made, or something else lies in it.
      const code = errorCode(error);
      if (code !== "ENOENT" && code !== "ENAMETOOLONG") return;
    }
  }
}
