import type { Database } from "bun:sqlite";
import {
  accessSync,
  closeSync,
  existsSync,
  constants as modes,
  openSync,
  readSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { errorCode, StorageFailedError, toStorageError, UnsupportedFormatError } from "../errors.ts";
import { networkFileSystem } from "../file-system-types.ts";
import {
  APPLICATION_ID,
  assertSoundHeader,
  beginsAsDatabase,
  HEADER_SIZE,
  identityOf,
  isKnownVersion,
  SCHEMA_VERSION,
} from "./header-fields.ts";
import { openImmutable, openPlainly } from "./opening.ts";
import { assertSchema, countObjects } from "./schema.ts";
import getApplicationId from "./sql/get-application-id.sql" with { type: "text" };
import getUserVersion from "./sql/get-user-version.sql" with { type: "text" };
import setBusyTimeout from "./sql/set-busy-timeout.sql" with { type: "text" };

/** What lies at a path: nothing, a file or database without anything in it, or a Holdfast database. */
export type FileKind = "absent" | "empty" | "store";

/**
 * A first look, without the lock: refuses what cannot be a Holdfast store, so that no file appears beside it. Says
 * nothing about a store that may be in use.
 * @throws UnsupportedFormatError, CorruptError, StorageFailedError
 */
export function refuseForeign(path: string): void {
  const header = readHeader(path);
  if (header === undefined || header.length === 0) return;
  if (!hasIdentity(path, header)) identify(path);
}

/**
 * Looks at what lies at `path`, read-only, so that a refusal leaves every byte as it was. The caller holds the lock. The
 * file's own header comes first: a foreign file is never opened with SQLite, which might roll back a journal in it.
 * @throws UnsupportedFormatError, CorruptError, StorageFailedError
 */
export function identify(path: string): FileKind {
  const kind = lookAtHeader(path);
  if (kind !== "database") return kind;
  try {
    // Where no log is to be replayed the file is all there is, and SQLite makes no files beside it.
    using database = hasLog(path) ? openPlainly(path) : openImmutable(path);
    return identifyDatabase(database, path);
  } catch (error) {
    throw toStorageError(error, "The store could not be read", { path });
  }
}

/**
 * The first look at a file, at its own header alone: a foreign file must never be opened with SQLite, which might roll
 * back a journal in it. @throws UnsupportedFormatError, CorruptError, StorageFailedError
 */
export function lookAtHeader(path: string): "absent" | "empty" | "database" {
  const header = readHeader(path);
  if (header === undefined) return "absent";
  if (header.length === 0) return "empty";
  hasIdentity(path, header);
  return "database";
}

/** What an open database is. @throws UnsupportedFormatError, CorruptError */
export function identifyDatabase(database: Database, path: string): Exclude<FileKind, "absent"> {
  // Another program may be reading or writing here just now.
  database.run(setBusyTimeout);
  // With a write-ahead log beside it, the header of the file may be older than the database.
  const id = readNumber(database, getApplicationId);
  const version = readNumber(database, getUserVersion);
  if (id === 0 && version === 0 && countObjects(database) === 0) return "empty";
  assertIdentity(path, id, version);
  assertSchema(database, path);
  return "store";
}

/** Whether the header of a database names Holdfast; false when it names nobody. @throws UnsupportedFormatError, CorruptError */
function hasIdentity(path: string, header: Buffer): boolean {
  assertSoundHeader(path, header);
  if (!beginsAsDatabase(header)) {
    throw new UnsupportedFormatError("The file is not a SQLite database", {
      place: { path },
      hint: "Name another path for the store. This file was left as it is.",
    });
  }
  const { applicationId, version } = identityOf(header);
  if (applicationId === 0 && version === 0) return false;
  assertIdentity(path, applicationId, version);
  return true;
}

/** Size of a file in bytes; 0 when there is none. */
export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Bytes of a write-ahead log that holds its header and nothing else. */
export const WAL_HEADER = 32;

/**
 * Whether a write-ahead log with a frame lies beside the database. One with its header alone, as a process leaves it that is
 * killed at its first commit, says nothing; SQLite, without leave to write the log's index, would retry it for ever.
 */
export function hasLog(path: string): boolean {
  return sizeOf(`${path}-wal`) > WAL_HEADER;
}

/** @throws StorageFailedError when the folder of `path` lies on a network file system. */
export function assertLocalFileSystem(path: string): void {
  const name = networkFileSystem(statfsSync(dirname(path)).type);
  if (name === undefined) return;
  throw new StorageFailedError(
    `The store lies on a network file system (${name}), where SQLite's WAL mode is not safe`,
    {
      place: { path },
      hint: "Keep the store on a local disk of the machine that writes it.",
    },
  );
}

/**
 * Refuses files that this user may read but not write, before SQLite makes others beside them with the same mode.
 * @throws StorageFailedError naming the file
 */
export function assertMayWrite(path: string): void {
  for (const file of ["", "-wal", "-shm"].map((suffix) => path + suffix)) {
    if (!existsSync(file)) continue;
    try {
      accessSync(file, modes.W_OK);
    } catch (error) {
      throw toStorageError(error, "A file of the store cannot be written", { path: file });
    }
  }
}

/**
 * Refuses a file with more than one name: SQLite keeps log and locks beside the name that it opened, so that two
 * programs on two names would overwrite each other without a word.
 * @throws StorageFailedError
 */
export function assertOneName(path: string): void {
  const links = statSync(path, { throwIfNoEntry: false })?.nlink ?? 1;
  if (links <= 1) return;
  throw new StorageFailedError(`The database file has ${links} names (hard links)`, {
    place: { path },
    hint: "Remove the other names, or copy the file to a place of its own and use the copy.",
  });
}

function assertIdentity(path: string, applicationId: number, version: number): void {
  const place = { path };
  if (applicationId === 0) {
    throw new UnsupportedFormatError("The SQLite database was not made by Holdfast", {
      place,
      hint: "Name another path for the store. This database was left as it is.",
    });
  }
  if (applicationId !== APPLICATION_ID) {
    throw new UnsupportedFormatError(
      `The SQLite database belongs to another application (id ${applicationId})`,
      {
        place,
        hint: "Name another path for the store. This database was left as it is.",
      },
    );
  }
  if (isKnownVersion(version)) return;
  const newer = version > SCHEMA_VERSION;
  throw new UnsupportedFormatError(
    `The store has schema version ${version}; this program reads versions up to ${SCHEMA_VERSION}`,
    { place, hint: newer ? "Use a newer version of Holdfast." : "There is no path from this older version." },
  );
}

/** The first bytes of a database, fewer of a shorter file; nothing where there is none. @throws StorageFailedError */
export function readHeader(path: string): Buffer | undefined {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) {
      const kind = stat.isDirectory() ? "a folder" : "not a regular file";
      throw new StorageFailedError(`The path of the store is ${kind}`, {
        place: { path },
        hint: "Name a file. A folder of session logs is named with --session-dir.",
      });
    }
    const file = openSync(path, "r");
    try {
      const header = Buffer.alloc(HEADER_SIZE);
      return header.subarray(0, readSync(file, header, 0, HEADER_SIZE, 0));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw toStorageError(error, "The store could not be read", { path });
  }
}

function readNumber(database: Database, sql: string): number {
  const row = z.record(z.string(), z.number()).parse(database.query(sql).get());
  return Object.values(row)[0] ?? 0;
}
