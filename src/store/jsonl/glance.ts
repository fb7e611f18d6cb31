import { decodeHeader, type SessionHeader } from "../../session/header.ts";
import type { Revision, SessionProblem } from "../backend.ts";
import { toStorageError } from "../errors.ts";
import { toProblem } from "../reading.ts";
import { firstLine, GLANCE, type LogHead, readHead } from "./head.ts";
import { decodeLines } from "./line-decoder.ts";
import { LogFile, type LogLocation } from "./log-file.ts";

const NEWLINE = 0x0a;

/** What a listing learns from the first bytes of a log. */
export interface Glance {
  readonly headerText: string;
  readonly header?: SessionHeader;
  /** Why the header, or the first record, cannot be read. */
  readonly problem?: SessionProblem;
  /** Absent where the log cannot be opened. */
  readonly revision?: Revision;
}

/** Looks at header and first record of a log; the first record only where it lies in the bytes read for the header. */
export function glanceAt(location: LogLocation): Glance {
  let headerText = "";
  let revision: Revision | undefined;
  try {
    using file = new LogFile(location);
    revision = file.revision;
    const head = readHead(file);
    headerText = head.headerText;
    const header = decodeHeader(headerText, { path: location.path });
    const problem = firstRecordProblem(file, head, header.id);
    return { headerText, header, revision, ...(problem === undefined ? {} : { problem }) };
  } catch (error) {
    const { path } = location;
    return { headerText, problem: toProblem(toStorageError(error, "The log could not be read", { path })) };
  }
}

function firstRecordProblem(
  file: LogFile,
  { bodyOffset }: LogHead,
  sessionId: string,
): SessionProblem | undefined {
  const first = firstLine(file.read(bodyOffset, GLANCE - bodyOffset), file.encoding);
  if (first.kind !== "line") return undefined;
  const line = first.content.subarray(0, first.content.indexOf(NEWLINE) + 1);
  const { fault } = decodeLines(line, 0, { path: file.path, sessionId, offset: bodyOffset }, file.encoding);
  return fault === undefined ? undefined : toProblem(fault.error);
}
