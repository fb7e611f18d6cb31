import { basename, dirname, join } from "node:path";
import type { Encoding } from "../../src/store/jsonl/layout.ts";
import { encodeId } from "../../src/store/jsonl/layout.ts";
import { AllowedRecords } from "./allowed.ts";
import { describe, need } from "./fault.ts";
import type { Reading } from "./reading.ts";
import { notTorn, type ReferenceLog, readReference } from "./reference-log.ts";
import { type Input, LOGS } from "./types.ts";

/*
 * What may be read of damaged logs. Frames have checksums: what is read must be what was once written. Plain lines have
 * none: what is read must be what the file says now. In both, nothing that the file holds may be passed over in silence.
 */

/** A log of an input, and what its bytes say. */
export interface PlacedLog {
  readonly name: string;
  readonly encodedId: string;
  readonly encoding: Encoding;
  readonly bytes: Buffer;
  readonly reference: ReferenceLog;
}

/** The logs of version 0 in an input, by the names of its files. */
export function placedLogs({ files }: Input): PlacedLog[] {
  return [...files].flatMap(([name, bytes]) => {
    const [root, , ...rest] = name.split("/");
    const file = basename(name);
    if (root !== LOGS || rest.length === 0) return [];
    const isFlat = rest.length === 1;
    const match = isFlat ? /^(.+)\.jsonl(\.zstd)?$/.exec(file) : /^(session)\.jsonl(\.zstd)?$/.exec(file);
    if (match === null || rest.length > 2) return [];
    const encoding: Encoding = match[2] === undefined ? "none" : "zstd";
    const encodedId = isFlat ? (match[1] ?? "") : basename(dirname(name));
    return [{ name: join(name), encodedId, encoding, bytes, reference: readReference(bytes, encoding) }];
  });
}

/** @throws Fault */
export function checkLogReading(input: Input, logs: readonly PlacedLog[], reading: Reading): void {
  const { id, records, error, torn } = reading;
  const own = logs.filter(({ encodedId }) => encodedId === encodeId(id));
  const [log] = own;
  // Of two logs with one id neither is read.
  if (log === undefined || own.length > 1) {
    need(
      error !== undefined,
      "what is not there is not read",
      () => `${id} was read from ${own.length} logs`,
    );
    return;
  }
  const { reference, bytes, encoding, name } = log;
  const { lines, end } = reference;
  const first = records.findIndex(({ text }, k) => k < lines.length && text !== lines[k]);
  need(
    first < 0,
    "what is read is what the file says",
    () => `${name}: record ${first} is not line ${first + 2}`,
  );
  if (records.length > lines.length) {
    const extra = records.length - lines.length;
    need(
      torn && encoding === "zstd",
      "what is read is what the file says",
      () => `${name}: ${extra} records too many`,
    );
  }
  const sound = soundBeginning(input, log);
  need(
    records.length >= sound,
    "what precedes the damage is read",
    () =>
      `${name}: ${records.length} records, and ${sound} are sound; ${error === undefined ? "" : describe(error)}`,
  );
  if (encoding === "zstd" && !input.forged) checkWritten(input, reading, name, lines.length);
  if (error !== undefined) return;
  if (!torn) {
    const isWhole = records.length === lines.length && end === bytes.length;
    need(
      isWhole,
      "nothing is passed over in silence",
      () => `${name}: ${records.length} of ${lines.length} lines, sound up to ${end} of ${bytes.length}`,
    );
    return;
  }
  const why = notTorn(bytes, encoding, encoding === "zstd" ? end : endOfLines(bytes, records.length + 1));
  need(why === undefined, "what was written is not called torn", () => `${name}: ${why}`);
}

/** @throws Fault unless every record is one that was written. Of a torn end that was mangled nobody can know. */
function checkWritten(input: Input, { records }: Reading, name: string, whole: number): void {
  const allowed = AllowedRecords.of(input);
  const known = input.onlyCut ? records : records.slice(0, whole);
  const wrong = known.find((record) => !allowed.has(record));
  need(
    wrong === undefined,
    "what is read was written",
    () => `${name}: seq ${wrong?.seq} is ${wrong?.text.slice(0, 300)}`,
  );
}

/** How many lines at the beginning are those of the session that was there, under the same header. */
function soundBeginning({ originals }: Input, { reference, encodedId }: PlacedLog): number {
  const original = originals.find(
    ({ id, headerText }) => encodeId(id) === encodedId && headerText === reference.header,
  );
  if (original === undefined) return 0;
  const { lines } = reference;
  let count = 0;
  while (count < lines.length && lines[count] === original.records[count]?.text) count += 1;
  return count;
}

/** Where the line after so many lines begins. */
function endOfLines(bytes: Buffer, count: number): number {
  let at = 0;
  for (let k = 0; k < count; k += 1) at = bytes.indexOf(0x0a, at) + 1;
  return at;
}
