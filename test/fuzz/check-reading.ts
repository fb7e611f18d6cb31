import { decodeRecord, recordEvents } from "../../src/session/records.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import { AllowedRecords } from "./allowed.ts";
import { checkRowReading, type RawStore, readRaw } from "./check-database.ts";
import { checkLogReading, type PlacedLog, placedLogs } from "./check-logs.ts";
import { describe, need, type Outcome, typed } from "./fault.ts";
import { isClean, listAll, type Reading, readSession } from "./reading.ts";
import type { Subject } from "./subject.ts";
import type { Input } from "./types.ts";

/** What ordinary reading of a store came to. */
export interface StoreReading {
  readonly readings: readonly Reading[];
  /** Ids that the listing shows, also of sessions that cannot be read. */
  readonly listed: readonly string[];
  readonly raw: RawStore;
  readonly logs: readonly PlacedLog[];
  /** Whether the store could not even be opened, or not be listed. */
  readonly isRefused: boolean;
}

const clock = () => 0;
const MOST_EVENTS = 20_000;
const LONGEST_TEXT = 8 * 1024 * 1024;

/** Tells which step is next. */
export type Mark = (step: string) => void;

/** Reads everything in every way there is. @throws Fault */
export async function checkReading(
  subject: Subject,
  input: Input,
  name: StoreName,
  mark: Mark,
): Promise<StoreReading> {
  mark("the reference");
  const logs = input.kind === "sqlite" ? [] : placedLogs(input);
  const raw = readRaw(input);
  mark("open read-only");
  const opened = await typed("opening read-only", () => subject.openStoreReadOnly(name, { clock }));
  if ("error" in opened) return { readings: [], listed: [], raw, logs, isRefused: true };
  await using store = opened.value;
  mark("list");
  const list = await typed("listing", () => listAll(store));
  const listed = "value" in list ? list.value.map(({ id }) => id) : [];
  await typed("listing revisions", () => store.listSnapshots({ limit: 1_000 }));
  const ids = new Set([
    ...listed,
    ...input.originals.map(({ id }) => id).filter((id) => listed.includes(id)),
  ]);
  const readings: Reading[] = [];
  for (const id of ids) {
    mark(`read ${id}`);
    const reading = await readSession(store, id);
    readings.push(reading);
    if (input.kind === "sqlite") checkRowReading(input, raw, reading);
    else checkLogReading(input, logs, reading);
    mark(`inspect ${id}`);
    await checkInspect(store, reading);
    mark(`read a part of ${id}`);
    await checkParts(input, store, reading, raw);
  }
  checkUntouched(input, readings);
  return { readings, listed, raw, logs, isRefused: "error" in list };
}

/** A session that nobody touched is read whole, whatever lies beside it. */
function checkUntouched({ untouched }: Input, readings: readonly Reading[]): void {
  for (const { id, records } of untouched) {
    const reading = readings.find((one) => one.id === id);
    const isSame = reading !== undefined && isClean(reading) && reading.records.length === records.length;
    need(
      isSame,
      "what was not touched is read whole",
      () => `${id}: ${reading?.records.length} of ${records.length} records`,
    );
  }
}

/** Inspecting gives the same as streaming, and what closes the last Turn. */
async function checkInspect(store: SessionPersistence, reading: Reading): Promise<void> {
  const { id, error, torn, events, records } = reading;
  const inspected = await typed(`inspecting ${id}`, () => store.inspect(id));
  if ("error" in inspected) {
    need(
      error !== undefined,
      "inspecting reads what streaming reads",
      () => `${id}: ${describe(inspected.error)}`,
    );
    return;
  }
  const { log, closers, torn: isTorn } = inspected.value;
  need(
    error === undefined,
    "inspecting reads what streaming reads",
    () => `${id} was inspected, but not read`,
  );
  need(
    isTorn === torn && log.length === events + closers.length,
    "inspecting reads what streaming reads",
    () => `${id}: ${log.length} events, ${events} were read, ${closers.length} closers`,
  );
  const stored = log.records(0, events);
  for (const { text } of records) {
    const next = stored.next();
    const isSame = next.done !== true && next.value.text === text;
    need(isSame, "inspecting reads what streaming reads", () => `${id} differs at ${text.slice(0, 100)}`);
  }
}

/** Reading from a seq on gives the same events as reading all. */
async function checkParts(
  input: Input,
  store: SessionPersistence,
  reading: Reading,
  { isSound }: RawStore,
): Promise<void> {
  const { id, events, records, error } = reading;
  // The comparison itself would take more than what is compared.
  if (events > MOST_EVENTS || records.some(({ text }) => text.length > LONGEST_TEXT)) return;
  const allowed = AllowedRecords.of(input);
  const rule = "reading a part reads what reading all reads";
  // Where the tree of a table is damaged, another way into it may lead to other rows, or to none.
  const isLost = input.kind === "sqlite" && !isSound;
  for (const from of new Set([0, Math.floor(events / 2), Math.max(0, events - 1), events, events + 5])) {
    const part: Outcome<readonly { readonly seq: number }[]> = await typed(`reading ${id} from ${from}`, () =>
      store.readFrom(id, from, { limit: 7 }),
    );
    if ("error" in part) {
      need(error !== undefined || isLost, rule, () => `${id} from ${from}: ${describe(part.error)}`);
      continue;
    }
    const end = Math.min(from + 7, events);
    const expected = eventsOf(records, from, end);
    const known = part.value.filter(({ seq }) => seq < events);
    const more = part.value.slice(known.length);
    // Whoever begins behind a row that reaches too far does not come by it, and reads what was written there.
    const isBehind =
      error !== undefined && input.kind === "sqlite" && known.every((event) => allowed.hasEvent(event));
    const isSame = isBehind || JSON.stringify(known) === JSON.stringify(expected);
    need(isSame || isLost, rule, () => `${id} from ${from}: ${JSON.stringify(known).slice(0, 200)}`);
    need(
      more.length === 0 || error !== undefined || isLost,
      rule,
      () => `${id} from ${from}: ${more.length} events more`,
    );
    // Behind the damage, which this way of reading need not come by, too, only what was written is read.
    if (input.forged || input.kind === "none") continue;
    for (const event of isSame ? more : part.value) {
      const isKnown = allowed.hasEvent(event);
      need(isKnown, "what is read was written", () => `${id}: ${JSON.stringify(event).slice(0, 300)}`);
    }
  }
}

function eventsOf(records: Reading["records"], from: number, to: number): unknown[] {
  const touching = records.filter(({ seq, count }) => seq < to && seq + count > from);
  return touching
    .flatMap(({ text }) => recordEvents(decodeRecord(text, {}).record))
    .filter(({ seq }) => seq >= from && seq < to);
}
