import { CorruptError } from "../errors.ts";
import { provenShape } from "./page-shape.ts";

/*
 * The header of a database file, and what every store's has in it. Source: https://sqlite.org/fileformat2.html
 */

/** "Hold" in ASCII: the `application_id` of a Holdfast store. */
export const APPLICATION_ID = 0x486f6c64;
/** The latest `user_version` that this program writes: that of a store in which a session was compacted. Others have 2. */
export const SCHEMA_VERSION = 3;
/** The first that there was. This program reads it and all that came later. */
const FIRST_VERSION = 1;
/** Versions that later programs will write. What is above them is no version. */
const LATER_VERSIONS = 99;

export const HEADER_SIZE = 100;
const MAGIC = "SQLite format 3\0";
const PAGE_SIZE = 16;
const WRITE_VERSION = 18;
const RESERVED = 20;
const LEAST_USABLE = 480;
/** Three numbers that are the same in every database. */
const FRACTIONS = 21;
const FRACTION_BYTES = Buffer.of(64, 32, 32);
const SCHEMA_FORMAT = 44;
const ENCODING = 56;
const USER_VERSION = 60;
const APPLICATION = 68;

/** A database that holds rows of ours, behind a header that is not what was written. Nothing was changed. */
export class DamagedHeaderError extends CorruptError {
  constructor(path: string, { offset, expected, found }: HeaderFault) {
    super("The header of the database is damaged", {
      place: { path, offset },
      expected,
      found,
      hint: "`holdfast sessions repair` keeps a backup and writes the database anew from the rows in it; `holdfast sessions salvage` reads them from `sqlite:PATH`. The file was left as it is.",
    });
  }
}

interface HeaderFault {
  readonly offset: number;
  readonly expected: string;
  readonly found: string;
}

/** Which program and which version of its tables a header names. */
export function identityOf(header: Buffer): { readonly applicationId: number; readonly version: number } {
  return { applicationId: header.readInt32BE(APPLICATION), version: header.readInt32BE(USER_VERSION) };
}

/** Whether a file begins as a database does. */
export function beginsAsDatabase(header: Buffer): boolean {
  return header.length >= HEADER_SIZE && header.toString("latin1", 0, MAGIC.length) === MAGIC;
}

/**
 * Refuses a store whose header is damaged: no store has what is wrong with it, and it is ours by name, or by rows behind it
 * whose checksums fit. Says nothing of any other file, such as one of another application.
 * @throws DamagedHeaderError
 */
export function assertSoundHeader(path: string, header: Buffer): void {
  const structure = structureFault(header);
  const identity = header.length < HEADER_SIZE ? undefined : identityFault(header);
  const fault = structure ?? identity;
  if (fault === undefined || (structure === undefined && isOthers(header))) return;
  const isNamed = beginsAsDatabase(header) && identity === undefined;
  if (isNamed || provenShape(path) !== undefined) throw new DamagedHeaderError(path, fault);
}

/** A sound header of another application, or of a later version. */
function isOthers(header: Buffer): boolean {
  const { applicationId, version } = identityOf(header);
  if (applicationId === APPLICATION_ID) return version > SCHEMA_VERSION && version <= LATER_VERSIONS;
  return applicationId !== 0 && differingBytes(applicationId, APPLICATION_ID) > 1;
}

function differingBytes(left: number, right: number): number {
  const differences = left ^ right;
  return [0, 8, 16, 24].filter((shift) => ((differences >>> shift) & 0xff) !== 0).length;
}

/** What keeps SQLite from reading a database with this header as it was written. */
function structureFault(header: Buffer): HeaderFault | undefined {
  if (!beginsAsDatabase(header)) {
    const found = header.subarray(0, MAGIC.length).toString("hex");
    return { offset: 0, expected: `"SQLite format 3"`, found: `the bytes ${found}` };
  }
  const stored = header.readUInt16BE(PAGE_SIZE);
  const pageSize = stored === 1 ? 65536 : stored;
  if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0)
    return { offset: PAGE_SIZE, expected: "a page size that is a power of two", found: String(stored) };
  for (const offset of [WRITE_VERSION, WRITE_VERSION + 1]) {
    const found = header.readUInt8(offset);
    if (found !== 1 && found !== 2) return { offset, expected: "file format 1 or 2", found: String(found) };
  }
  const reserved = header.readUInt8(RESERVED);
  if (pageSize - reserved < LEAST_USABLE)
    return { offset: RESERVED, expected: "few bytes that are left out of pages", found: String(reserved) };
  const fractions = header.subarray(FRACTIONS, FRACTIONS + FRACTION_BYTES.length);
  if (!fractions.equals(FRACTION_BYTES))
    return { offset: FRACTIONS, expected: "the numbers 64, 32, 32", found: [...fractions].join(", ") };
  const format = header.readUInt32BE(SCHEMA_FORMAT);
  if (format < 1 || format > 4)
    return { offset: SCHEMA_FORMAT, expected: "schema format 1 to 4", found: String(format) };
  const encoding = header.readUInt32BE(ENCODING);
  if (encoding !== 1) return { offset: ENCODING, expected: "text encoding 1", found: String(encoding) };
  return undefined;
}

/** Whether this program reads stores of this version. */
export function isKnownVersion(version: number): boolean {
  return version >= FIRST_VERSION && version <= SCHEMA_VERSION;
}

function identityFault(header: Buffer): HeaderFault | undefined {
  const { applicationId, version } = identityOf(header);
  if (applicationId !== APPLICATION_ID) {
    const [expected, found] = [`application id ${APPLICATION_ID}`, String(applicationId)];
    return { offset: APPLICATION, expected, found };
  }
  if (isKnownVersion(version)) return undefined;
  const expected = `schema version ${FIRST_VERSION} to ${SCHEMA_VERSION}`;
  return { offset: USER_VERSION, expected, found: String(version) };
}
