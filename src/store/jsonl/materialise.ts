import { closeSync, constants, existsSync, fstatSync, linkSync, openSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionRecord } from "../../session/records.ts";
import type { Revision } from "../backend.ts";
import { AlreadyExistsError, errorCode, toStorageError } from "../errors.ts";
import { makeDirectory, syncDirectory } from "../paths.ts";
import { type FileSystem, writeAll } from "./file-system.ts";
import { draftName, type Encoding, logPath } from "./layout.ts";
import { encodeLines } from "./line-encoder.ts";
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
    encodeLines(texts, encoding, path),
  ]);
  let file: number | undefined;
  let isPublished = false;
  try {
    makeDirectory(folder);
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
    file = openSync(draft, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o600);
    writeAll(system, file, bytes, path);
    system.fsync(file);
    linkSync(draft, path);
    isPublished = true;
    rmSync(draft);
    syncDirectory(folder);
  } catch (error) {
    if (file !== undefined) closeSync(file);
    const isTaken = !isPublished && errorCode(error) === "EEXIST" && existsSync(path);
    discard(isPublished ? [path, draft] : [draft], folder);
    if (isTaken) throw new AlreadyExistsError(id);
    throw toStorageError(error, "The log of the session could not be made", { path });
  }
  const last = records.at(-1);
  const end = { size: bytes.length, next: last === undefined ? 0 : last.seq + last.count };
  const revision = formatRevision(fstatSync(file, { bigint: true }));
  return { log: new OpenLog({ path, encoding }, file, end, system), revision };
}

/**
 * A log's header line says its type, first of all, and its delegation depth, also where that is 0. What says both, or is
 * no header, stays as it is: what a copy brings along is checked by whoever reads it.
 */
function toStoredHeader(text: string): { readonly text: string; readonly cwd?: string } {
  const header = tryHeader(text);
  if (header === undefined) return { text };
  const { type, version, id, createdAt, cwd, parentSession, seedLength, origin, ...rest } = header;
  const place = typeof cwd === "string" ? { cwd } : {};
  const typed = type === undefined ? text.replace("{", `{"type":"${HEADER_TYPE}",`) : text;
  if (rest["delegationDepth"] !== undefined) return { text: typed, ...place };
  const known = { type: type ?? HEADER_TYPE, version, id, createdAt, cwd, parentSession, seedLength, origin };
  return { text: JSON.stringify({ ...known, delegationDepth: 0, ...rest }), ...place };
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
function discard(files: readonly string[], folder: string): void {
  for (const file of files) {
    try {
      rmSync(file, { force: true });
    } catch (error) {
      // There is no such file where no file system takes its name.
      if (errorCode(error) !== "ENAMETOOLONG") throw error;
    }
  }
  removeEmptyFolders(folder);
}

/** Removes a session's folder and its project's, as far as they are empty. */
export function removeEmptyFolders(folder: string): void {
  for (const path of [folder, dirname(folder)]) {
    try {
      rmdirSync(path);
    } catch (error) {
      // It was never made, or something else lies in it.
      const code = errorCode(error);
      if (code !== "ENOENT" && code !== "ENAMETOOLONG") return;
    }
  }
}
