import { basename, dirname } from "node:path";
import { toStorageError } from "../errors.ts";
import type { ExaminedSession } from "../examiner.ts";
import { readBeginning } from "./beginning.ts";
import { examineBody, noItems, type Patience } from "./examine-log.ts";
import { FrameSearch } from "./frame-search.ts";
import { FRAME_MAGIC } from "./frame-walker.ts";
import { decodeId, type Encoding, flatLog, QUARANTINE_INFIX } from "./layout.ts";
import { LogFile, type LogLocation } from "./log-file.ts";

/** A piece was set aside: nobody writes to it. */
const AT_REST: Patience = { now: () => Number.POSITIVE_INFINITY, wait: Bun.sleep };

/**
 * One log file, wherever it lies: a log, or a piece of one that begins in the middle, such as what a torn tail was set
 * aside in. How it is stored is told by what it holds. That a piece has no header is no finding.
 * @throws StorageFailedError when it cannot be read at all
 */
export function examineLogFile(path: string): ExaminedSession {
  const location = { path, encoding: encodingOf(path) };
  using file = openLog(location);
  const { headerText, header, finding, body } = readBeginning(file);
  const id = header?.id ?? idOf(path);
  const isPiece = header === undefined && (body?.row === 1 || basename(path).includes(QUARANTINE_INFIX));
  if (isPiece) {
    const items = () => examineBody(location, id, { offset: 0, row: 1, lead: Buffer.alloc(0) }, AT_REST);
    return { id, location: path, findings: [], items };
  }
  return {
    id,
    location: path,
    ...(headerText === undefined ? {} : { headerText }),
    ...(header === undefined ? {} : { header }),
    findings: finding === undefined ? [] : [finding],
    items: () => (body === undefined ? noItems() : examineBody(location, id, body)),
  };
}

function openLog(location: LogLocation): LogFile {
  try {
    return new LogFile(location);
  } catch (error) {
    throw toStorageError(error, "The file could not be opened", { path: location.path });
  }
}

/** Frames where it begins with one, or where there is a sound one anywhere; else lines. */
function encodingOf(path: string): Encoding {
  using file = openLog({ path, encoding: "zstd" });
  const isFramed =
    file.read(0, FRAME_MAGIC.length).equals(FRAME_MAGIC) || new FrameSearch(file).next(0) !== undefined;
  return isFramed ? "zstd" : "none";
}

/** The id that the name of the file or of its folder tells; else the name. */
function idOf(path: string): string {
  const name = basename(path);
  // What was added behind the name of a log: a quarantine file, a backup.
  const log = /^(.+\.jsonl(?:\.zstd)?)(?:\.[a-z]+-[\d-]+)?$/.exec(name)?.[1] ?? name;
  const encoded = log.startsWith("session.jsonl") ? basename(dirname(path)) : flatLog(log)?.encodedId;
  return (encoded === undefined ? undefined : decodeId(encoded)) ?? name;
}
