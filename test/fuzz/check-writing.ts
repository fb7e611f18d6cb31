import type { SessionPersistence } from "../../src/store/persistence.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import type { Mark, StoreReading } from "./check-reading.ts";
import { describe, need, type Outcome, typed } from "./fault.ts";
import { isClean, type Reading, readSession } from "./reading.ts";
import { readFiles, storeIn, writeFiles } from "./store-files.ts";
import type { Subject } from "./subject.ts";
import { DATABASE, type Input, LEAST_QUOTED } from "./types.ts";

const clock = () => 1_800_000_000_000;
const MOST_SESSIONS = 2;
/** Byte 18 of a database that was in WAL mode last. */
const WAL_MODE = 2;
const RULE = "what is acknowledged is there";

/**
 * Opens a copy of the store as a Host does, resumes sessions, appends to them, and reads that back.
 * @returns whether anything could be appended @throws Fault
 */
export async function checkWriting(
  subject: Subject,
  input: Input,
  place: string,
  reading: StoreReading,
  mark: Mark,
): Promise<boolean> {
  const name = storeIn(place, input.kind);
  writeFiles(place, input.files);
  mark("open for writing");
  const encoding = input.kind === "none" ? "none" : "zstd";
  const options = {
    clock,
    chunkWindowMs: 0,
    thread: "process",
    encoding,
    leastQuoted: LEAST_QUOTED,
  } as const;
  const opened = await typed("opening for writing", () => subject.openStore(name, options));
  if ("error" in opened) {
    needSame(input, place, () => `refused: ${describe(opened.error)}`);
    return false;
  }
  const isSound = input.kind !== "sqlite" || reading.raw.isSound;
  const appended: Reading[] = [];
  {
    await using store = opened.value;
    for (const before of reading.readings.slice(0, MOST_SESSIONS)) {
      mark(`append to ${before.id}`);
      if (await append(store, before, isSound)) appended.push(before);
    }
  }
  mark("read what was appended");
  if (isSound) await readBack(subject, name, appended);
  if (input.kind !== "sqlite") checkQuarantine(input, place);
  return appended.length > 0;
}

/** Resumes a session and appends to it. @returns whether that was possible */
async function append(store: SessionPersistence, before: Reading, isSound: boolean): Promise<boolean> {
  const { id, error, unknownTypes, torn } = before;
  const prepared = await typed(`resuming ${id}`, () => store.prepare(id));
  if ("error" in prepared) {
    const isFine = error === undefined && !unknownTypes && isSound && !isDropped(prepared);
    need(!isFine, "what is read to its end can be resumed", () => `${id}: ${describe(prepared.error)}`);
    return false;
  }
  await using preparation = prepared.value;
  need(error === undefined || !isSound, "what is damaged is not resumed", () => `${id}: ${error?.message}`);
  need(preparation.torn === torn, "what is torn is said", () => id);
  const session = preparation.publish();
  const done = await typed(`appending to ${id}`, () =>
    session.log.append({ type: "session/title", data: "appended" }),
  );
  await session[Symbol.asyncDispose]();
  need("value" in done || isDropped(done) || !isSound, "a resumed session takes events", () => id);
  return "value" in done;
}

/** Whether a trigger that an input added to the database dropped what was written, and the store said so. */
function isDropped(outcome: Outcome<unknown>): boolean {
  return "error" in outcome && outcome.error.message === "The database did not store a row";
}

/** What was there before, what closed the last Turn, and what was appended. */
async function readBack(subject: Subject, name: StoreName, appended: readonly Reading[]): Promise<void> {
  await using store = await subject.openStoreReadOnly(name, { clock });
  for (const before of appended) {
    const after = await readSession(store, before.id);
    need(isClean(after), RULE, () => `${before.id}: ${after.error?.message ?? "torn"}`);
    needPrefix(before, after, RULE);
    const last = after.records.at(-1)?.text ?? "";
    need(last.includes('"data":"appended"'), RULE, () => `${before.id} ends with ${last.slice(0, 100)}`);
  }
}

/** @throws Fault unless all that was read before is read still, at the beginning */
export function needPrefix(before: Reading, after: Reading, rule: string): void {
  const first = before.records.findIndex(({ text }, k) => after.records[k]?.text !== text);
  need(
    first < 0,
    rule,
    () =>
      `${before.id}: record ${first} of ${before.records.length} is another one, or gone; ${after.records.length} are there`,
  );
}

/** A store that is refused keeps its bytes; files that SQLite or the lock made beside it do not count. */
function needSame({ files }: Input, place: string, why: () => string): void {
  const now = readFiles(place);
  // A database in another journal mode is put into the Host's before anything of it is read.
  if (files.get(DATABASE)?.[18] !== WAL_MODE && files.has(DATABASE)) return;
  for (const [file, bytes] of files) {
    // An index of the log belongs to whoever opened it last, SQLite rolls a journal back, and a draft is swept.
    if (/-shm$|-journal$|\.creating$|holdfast-draft/.test(file)) continue;
    const isSame = now.get(file)?.equals(bytes) === true;
    need(isSame, "what is refused stays as it is", () => `${file} changed; ${why()}`);
  }
}

/** What was set aside of a torn log is exactly what followed its sound beginning. */
function checkQuarantine({ files }: Input, place: string): void {
  for (const [file, bytes] of readFiles(place)) {
    const [, log = "", offset = ""] = /^(.*)\.torn-(\d+)$/.exec(file) ?? [];
    const before = files.get(log);
    if (before === undefined || files.has(file)) continue;
    const isSame = before.subarray(Number(offset)).equals(bytes);
    need(isSame, "what is cut off is set aside", () => `${file} is not the end of ${log}`);
  }
}
