import { decodeHeader, type SessionHeader } from "../../session/header.ts";
import { CorruptError, UnsupportedFormatError } from "../errors.ts";
import { type Finding, findingOf } from "../finding.ts";
import { headerChecksum, sessionIdOf, sessionKey } from "./keys.ts";

/** A row of `sessions` as far as it can be read. */
export interface ExaminedHeader {
  readonly number: number;
  readonly id: string;
  /** As stored; absent where it is no text. */
  readonly key?: string;
  readonly headerText?: string;
  readonly checksum?: number;
  readonly header?: SessionHeader;
  readonly findings: readonly Finding[];
}

interface Columns {
  readonly key?: string;
  readonly header?: string;
  readonly checksum?: number;
}

/** What a row of `sessions` says, and what is wrong with it. */
export function examineHeader(number: number, row: unknown, path: string): ExaminedHeader {
  const { key, header: text, checksum } = columnsOf(row);
  const ownId = key === undefined ? undefined : idOf(key);
  const { header, fault } = text === undefined ? {} : parse(text, path);
  const id = trueId(header?.id, ownId, row) ?? key ?? `session-${number}`;
  const place = { path, sessionId: id };
  const findings: Finding[] = [];
  const report = (code: Finding["code"], message: string, expected: string, found: string) =>
    findings.push({ code, message, place, expected, found });
  if (key === undefined || text === undefined || checksum === undefined) {
    report("header-damaged", "The row of the session has other types", "those of the table", typesOf(row));
  } else {
    const actual = headerChecksum(key, text);
    if (actual !== checksum) {
      const message = "The checksum of the session header does not match";
      report("header-damaged", message, `checksum ${checksum}`, `checksum ${actual}`);
    }
    if (ownId === undefined) {
      report(
        "header-damaged",
        "The key of the session is malformed",
        "an id as JSON has it",
        JSON.stringify(key),
      );
    }
  }
  if (fault !== undefined) findings.push({ ...fault, place: { ...place, ...fault.place } });
  if (header !== undefined && key !== undefined && sessionKey(header.id) !== key) {
    const message = "The session header belongs to another session";
    report("header-misplaced", message, `the id ${JSON.stringify(ownId ?? key)}`, JSON.stringify(header.id));
  }
  return {
    number,
    id,
    findings,
    ...(key === undefined ? {} : { key }),
    ...(text === undefined ? {} : { headerText: text }),
    ...(checksum === undefined ? {} : { checksum }),
    ...(header === undefined ? {} : { header }),
  };
}

/** Readers find a session by its key, so that the key counts, unless the checksum proves that it is what was changed. */
function trueId(header: string | undefined, own: string | undefined, row: unknown): string | undefined {
  const { header: text, checksum } = columnsOf(row);
  if (header === undefined || text === undefined || own === undefined) return own ?? header;
  return headerChecksum(sessionKey(header), text) === checksum ? header : own;
}

/** The id of a key; nothing where it is no key that Holdfast would make. */
export function idOf(key: string): string | undefined {
  try {
    const id = sessionIdOf(key);
    return sessionKey(id) === key && id !== "" ? id : undefined;
  } catch {
    return undefined;
  }
}

function parse(text: string, path: string): { readonly header?: SessionHeader; readonly fault?: Finding } {
  try {
    return { header: decodeHeader(text, { path }) };
  } catch (error) {
    if (error instanceof CorruptError) return { fault: findingOf("header-damaged", error) };
    if (!(error instanceof UnsupportedFormatError)) throw error;
    return { fault: { code: "unsupported-version", message: error.message, place: error.place } };
  }
}

function columnsOf(row: unknown): Columns {
  if (typeof row !== "object" || row === null) return {};
  const { key, header, checksum } = row as Readonly<Record<string, unknown>>;
  return {
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof header === "string" ? { header } : {}),
    ...(typeof checksum === "number" ? { checksum } : {}),
  };
}

function typesOf(row: unknown): string {
  const names = ["key", "header", "checksum"] as const;
  const columns = columnsOf(row);
  return `no ${names.filter((name) => columns[name] === undefined).join(", ")}`;
}
