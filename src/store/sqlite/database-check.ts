import type { Database } from "bun:sqlite";
import { z } from "zod";
import { CorruptError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { readingFinding } from "./reading-finding.ts";
import { assertSchema } from "./schema.ts";
import integrityCheck from "./sql/integrity-check.sql" with { type: "text" };

/* What SQLite itself finds wrong with a database, and whether its tables are those of a store. */

const PAGE_SIZE_OFFSET = 16;
/** Most characters of one of SQLite's messages. */
const MESSAGE_LENGTH = 200;

const messageSchema = z.object({ integrity_check: z.string() });

interface CheckedFile {
  readonly path: string;
  /** In bytes; 0 where it is not known. */
  readonly pageSize: number;
}

/** The size of pages in bytes, as the header of a database says it. */
export function pageSizeOf(header: Buffer): number {
  const size = header.readUint16BE(PAGE_SIZE_OFFSET);
  return size === 1 ? 65_536 : size;
}

/** What is wrong with a database. Empty where it is sound. */
export function* checkDatabase(access: ReadAccess, { path, pageSize }: CheckedFile): Generator<Finding> {
  const [messages, error] = access.read(checkIntegrity);
  for (const message of messages) yield damaged(message, { path, pageSize });
  if (error !== undefined) yield unchecked(error, path);
  try {
    access.read((database) => assertSchema(database, path));
  } catch (fault) {
    if (fault instanceof CorruptError) yield findingOf("store-damaged", fault);
    else if (error === undefined) yield unchecked(fault, path);
  }
}

/** The same finding, where what is damaged is the store and no session. */
export function ofStore(finding: Finding): Finding {
  return finding.code === "damaged" ? { ...finding, code: "store-damaged" } : finding;
}

/** What SQLite's own check says, and what it failed with. */
function checkIntegrity(database: Database): readonly [readonly string[], unknown] {
  const found: string[] = [];
  try {
    for (const row of database.query(integrityCheck).iterate()) {
      const { integrity_check: message } = messageSchema.parse(row);
      if (message !== "ok") found.push(message);
    }
    return [found, undefined];
  } catch (error) {
    return [found, error];
  }
}

/** SQLite's message, and the place of the page that it names. */
function damaged(message: string, { path, pageSize }: CheckedFile): Finding {
  const page = Number(/\bpage (\d+)/i.exec(message)?.[1] ?? 0);
  return {
    code: "store-damaged",
    message: "SQLite finds the database damaged",
    place: { path, ...(page > 0 ? { offset: (page - 1) * pageSize } : {}) },
    expected: "a sound SQLite database",
    found: message
      .replace("*** in database main ***", "")
      .replaceAll(/\s+/g, " ")
      .trim()
      .slice(0, MESSAGE_LENGTH),
  };
}

function unchecked(error: unknown, path: string): Finding {
  return ofStore(readingFinding(error, "SQLite cannot check the database", { path }));
}
