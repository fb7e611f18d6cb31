import type { Place } from "../../../../session/errors.ts";
import { decodeHeader } from "../../../../session/header.ts";
import { type DecodedRecord, decodeRecord } from "../../../../session/records.ts";
import { breathe } from "../../../../store/breathe.ts";
import { CorruptError, UnsupportedFormatError } from "../../../../store/errors.ts";
import type { Examined, ExaminedSession } from "../../../../store/examiner.ts";
import { type Finding, findingOf } from "../../../../store/finding.ts";
import { examineLogFile } from "../../../../store/jsonl/examine-file.ts";
import { HEADER_START } from "./jsonl.ts";
import type { ImportReader } from "./reader.ts";

const START = Buffer.from(HEADER_START);
const NEWLINE = 0x0a;
/** Longest line that a session log may have, in bytes. */
const LONGEST = 64 * 1024 * 1024;
/** Records that are given out together. */
const PAGE = 256;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A line of a file. */
interface Line {
  readonly bytes: Buffer;
  /** Byte at which it begins. */
  readonly offset: number;
  /** Number of the line, from 1. */
  readonly row: number;
  /** Whether its end is there. */
  readonly isWhole: boolean;
  /** Whether it is longer than a line may be; then its bytes are only those that it begins with. */
  readonly isTooLong: boolean;
}

/** Where a session's header stands. */
type Start = Pick<Line, "offset" | "row">;

/** What `sessions export --format jsonl` writes: logs of several sessions, one behind the other. */
export const exportReader: ImportReader = {
  name: "JSON Lines that `sessions export` wrote",
  // An empty one is what is written where there is no session.
  knows: ({ kind, beginning }) =>
    kind === "file" && (beginning.length === 0 || isStart(Buffer.from(beginning))),
  async *sessions(path) {
    const starts: Start[] = [];
    for await (const { bytes, offset, row } of linesOf(path, { offset: 0, row: 1 }))
      if (isStart(bytes)) starts.push({ offset, row });
    if (starts.length === 0) return;
    // One alone is a session log like any other.
    if (starts.length === 1) yield examineLogFile(path);
    else for (const [k, start] of starts.entries()) yield await examine(path, start, starts[k + 1]?.offset);
  },
};

function isStart(bytes: Buffer): boolean {
  return bytes.subarray(0, START.length).equals(START);
}

async function examine(path: string, start: Start, end: number | undefined): Promise<ExaminedSession> {
  const place = { path, offset: start.offset, row: start.row };
  const unnamed = { id: `line-${start.row}`, location: path, items: () => itemsOf(path, start, end) };
  try {
    const headerText = utf8.decode(await headerLine(path, start, end));
    const header = decodeHeader(headerText, place);
    return { ...unnamed, id: header.id, headerText, header, findings: [] };
  } catch (error) {
    return { ...unnamed, findings: [headerFinding(error, place)] };
  }
}

async function headerLine(path: string, start: Start, end: number | undefined): Promise<Buffer> {
  for await (const { bytes } of linesOf(path, start, end)) return bytes;
  return Buffer.alloc(0);
}

function headerFinding(error: unknown, place: Place): Finding {
  if (error instanceof UnsupportedFormatError)
    return { code: "unsupported-version", message: error.message, place };
  if (error instanceof CorruptError) return findingOf("header-damaged", error, place);
  return { code: "header-damaged", message: "The header is not UTF-8", place };
}

/** The events behind a header, past what is wrong. */
async function* itemsOf(path: string, start: Start, end: number | undefined): AsyncGenerator<Examined> {
  let records: DecodedRecord[] = [];
  let places: Place[] = [];
  const page = (): Examined => {
    const [taken, known] = [records, places];
    records = [];
    places = [];
    return { kind: "records", records: taken, placeOf: (k) => known[k] ?? { path } };
  };
  for await (const line of linesOf(path, start, end)) {
    if (line.row === start.row) continue;
    const place = { path, offset: line.offset, row: line.row };
    const read = readLine(line, place);
    if ("record" in read) {
      records.push(read);
      places.push(place);
    }
    if (records.length === PAGE || !("record" in read)) {
      if (records.length > 0) yield page();
      await breathe();
    }
    if (!("record" in read)) yield { kind: "damage", finding: read };
  }
  if (records.length > 0) yield page();
}

function readLine({ bytes, isWhole, isTooLong }: Line, place: Place): DecodedRecord | Finding {
  if (isTooLong) return { code: "damaged", message: "A line is longer than 64 MiB", place };
  if (!isWhole) return { code: "torn-tail", message: "The last line was never fully written", place };
  try {
    return decodeRecord(utf8.decode(bytes), place);
  } catch (error) {
    if (error instanceof CorruptError) return findingOf("malformed", error, place);
    return { code: "damaged", message: "A line is not UTF-8", place };
  }
}

/** The lines of a file from one that begins at `start` on. Memory holds one of them, and a piece of the file. */
async function* linesOf(path: string, start: Start, end?: number): AsyncGenerator<Line> {
  let { offset, row } = start;
  let parts: Buffer[] = [];
  let length = 0;
  const add = (bytes: Buffer): void => {
    length += bytes.length;
    if (length <= LONGEST) parts.push(bytes);
    else parts = parts.slice(0, 1);
  };
  const line = (isWhole: boolean): Line => {
    const bytes = parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
    const made = { bytes, offset, row, isWhole, isTooLong: length > LONGEST };
    offset += length + 1;
    row += 1;
    parts = [];
    length = 0;
    return made;
  };
  const file = Bun.file(path);
  for await (const chunk of file.slice(offset, end ?? file.size).stream()) {
    const bytes = Buffer.from(chunk);
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      add(bytes.subarray(from, at));
      yield line(true);
      from = at + 1;
    }
    add(bytes.subarray(from));
  }
  if (length > 0) yield line(false);
}
