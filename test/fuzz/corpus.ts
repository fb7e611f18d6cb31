import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { SessionEvent } from "../../src/session/events.ts";
import { decodeRecord } from "../../src/session/records.ts";
import type { Encoding } from "../../src/store/jsonl/layout.ts";
import { openStore, openStoreReadOnly } from "../../src/store/open-store.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { compactSqlite } from "../../src/store/sqlite/compactor.ts";
import { allEventDrafts, arbitraryEvents, batchSizes, inBatches, toEvents } from "../fixtures/arbitraries.ts";
import { dshSamples, workloadSample } from "../fixtures/dsh-samples.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import { streamedTurn } from "../fixtures/streamed-log.ts";
import { framesOf } from "./frames.ts";
import { readReference } from "./reference-log.ts";
import { newFolder, readFiles, storeIn } from "./store-files.ts";
import { DATABASE, type Files, LEAST_QUOTED, LOGS, type Original, type OriginalRecord } from "./types.ts";
import { sealed } from "./wal.ts";

/* What inputs are made of: stores and logs that are sound. The same for the same seed. */

/** A log, by its path below a root. */
export interface LogSeed {
  readonly path: string;
  readonly bytes: Buffer;
  readonly original: Original;
}

/** A database with what lies beside it. */
export interface DatabaseSeed {
  readonly files: Files;
  readonly originals: readonly Original[];
}

export interface Corpus {
  readonly logs: readonly LogSeed[];
  readonly databases: readonly DatabaseSeed[];
  /** A log of thousands of frames, as {@link prefixOf} takes a beginning of; absent where there is no sample. */
  readonly workload: LogSeed | undefined;
}

const OWN_SESSIONS = 14;
/** Where nobody looks at what is found. */
const FEW_OWN_SESSIONS = 6;
/** Ids that file names and keys have to escape. */
const ODD_IDS = ["a/b", "..", "\u00fcber ~", "\ud800", "x".repeat(60)];
/** An answer whose texts stand in its log several times. */
const STREAMED = [
  {
    cites: true,
    blocks: [
      { kind: "reasoning", text: "The milk, first. ".repeat(40), cuts: [5, 6, 30, 200, 300] },
      { kind: "text", text: "Milk \u{1f95b}, bread. ".repeat(90), cuts: [5, 14, 40, 500, 900, 910] },
      { kind: "tool-call", text: JSON.stringify({ text: "milk, ".repeat(60) }), cuts: [9, 80, 90, 100] },
    ],
  },
] as const;
/** Longer samples cost more than they find. */
const MOST_SAMPLE_BYTES = 16 * 1024;
const SALTS = [0x1234_5678, 0x9abc_def0] as const;
const clock = () => 1_700_000_000_000;

/** Without `samples` of few own sessions alone, for runs that do not look at what they find. */
export async function makeCorpus(kind: StoreKind, seed: number, samples = true): Promise<Corpus> {
  const own = samples ? OWN_SESSIONS : FEW_OWN_SESSIONS;
  if (kind === "sqlite") {
    const logs = [...(await ownLogs("zstd", seed, own)), ...(samples ? sampleLogs("zstd") : [])];
    const workload = samples ? workloadLog("zstd") : undefined;
    const long = workload === undefined ? [] : [prefixOf(workload, "zstd", 60)];
    return { logs: [], databases: await databases(logs, long, seed), workload: undefined };
  }
  const logs = [...(await ownLogs(kind, seed, own)), ...(samples ? sampleLogs(kind) : [])];
  return { logs, databases: [], workload: samples ? workloadLog(kind) : undefined };
}

/** The first frames, or lines, of a long log, with a header of its own. */
export function prefixOf({ path, bytes, original }: LogSeed, encoding: Encoding, count: number): LogSeed {
  let end = 0;
  if (encoding === "zstd") end = framesOf(bytes.subarray(0, 2_000 * (count + 8)))[count]?.end ?? bytes.length;
  else for (let k = 0; k <= count && end < bytes.length; k += 1) end = bytes.indexOf(0x0a, end) + 1;
  const part = Buffer.from(bytes.subarray(0, end));
  const { lines } = readReference(part, encoding);
  return { path, bytes: part, original: { ...original, records: original.records.slice(0, lines.length) } };
}

async function ownLogs(encoding: Encoding, seed: number, count: number): Promise<LogSeed[]> {
  const sessions = fc.sample(arbitraryEvents(), { seed, numRuns: count });
  const sizes = fc.sample(batchSizes(), { seed, numRuns: count + 2 });
  const all: ReadonlyArray<readonly SessionEvent[]> = [
    ...sessions,
    toEvents(allEventDrafts()),
    toEvents(streamedTurn(STREAMED)),
  ];
  const folder = newFolder("corpus");
  try {
    await using store = await openStore(storeIn(folder, encoding), options(encoding));
    for (const [k, events] of all.entries()) {
      const id = ODD_IDS[k] ?? `own-${k}`;
      await using _ = await store.create({ version: 0, id, createdAt: clock(), cwd: "/srv/x" });
      for (const batch of inBatches(events, sizes[k] ?? [1])) await store.append(id, batch);
    }
    return logsIn(readFiles(join(folder, LOGS)), encoding);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The sessions that lie outside of the repository; none where they are absent. */
function sampleLogs(encoding: Encoding): LogSeed[] {
  const { root, sessions } = dshSamples(encoding);
  const small = sessions.filter(({ file }) => statSync(join(root, file)).size <= MOST_SAMPLE_BYTES);
  return logsIn(new Map(small.map(({ file }) => [file, readFileSync(join(root, file))])), encoding);
}

function workloadLog(encoding: Encoding): LogSeed | undefined {
  const sample = workloadSample();
  if (sample === undefined) return undefined;
  const { root, session } = sample;
  const bytes = readFileSync(join(root, session.file));
  const [log] = logsIn(new Map([[session.file, bytes]]), "zstd");
  if (log === undefined || encoding === "zstd") return log;
  const { headerText, records } = log.original;
  const lines = [headerText, ...records.map(({ text }) => text)];
  return { ...log, path: log.path.replace(/\.zstd$/, ""), bytes: Buffer.from(`${lines.join("\n")}\n`) };
}

function logsIn(files: ReadonlyMap<string, Buffer>, encoding: Encoding): LogSeed[] {
  return [...files].flatMap(([path, bytes]) => {
    if (!path.endsWith(encoding === "zstd" ? ".jsonl.zstd" : ".jsonl")) return [];
    const { header = "", lines } = readReference(bytes, encoding);
    const { id }: { id: string } = JSON.parse(header);
    return [{ path, bytes, original: { id, headerText: header, records: lines.map(toRecord) } }];
  });
}

function toRecord(text: string): OriginalRecord {
  const { seq, count } = decodeRecord(text, {}).record;
  return { seq, count, text };
}

/** Some with one session, some with several, two that are long; half of them as a killed process leaves them, two compacted. */
async function databases(
  logs: readonly LogSeed[],
  long: readonly LogSeed[],
  seed: number,
): Promise<DatabaseSeed[]> {
  const made: DatabaseSeed[] = [];
  const step = 7;
  for (let k = 0; k < 10; k += 1) {
    const first = (seed + k * step) % logs.length;
    const few = Array.from({ length: 1 + (k % 3) }, (_, n) => logs[(first + n * 3) % logs.length]);
    const chosen = few.filter((log) => log !== undefined);
    const sessions = k === 4 || k === 9 ? [...chosen, ...long] : chosen;
    made.push(await database([...new Set(sessions)], k % 2 === 1, k === 4 || k === 8));
  }
  return made;
}

async function database(
  logs: readonly LogSeed[],
  isKilled: boolean,
  isCompacted: boolean,
): Promise<DatabaseSeed> {
  let originals = logs.map(({ original }) => original);
  const folder = newFolder("corpus");
  try {
    let files: Files | undefined;
    {
      await using store = await openStore(storeIn(folder, "sqlite"), options("zstd"));
      for (const { original } of logs) await plant(store, original);
      if (isKilled) files = readFiles(folder);
    }
    if (isCompacted) originals = await compacted(folder, originals);
    files ??= readFiles(folder);
    const wal = files.get("agent.db-wal");
    // Its salts are random, and the same seed must give the same bytes.
    if (wal !== undefined && wal.length > 0) files.set("agent.db-wal", sealed(wal, SALTS));
    for (const name of ["agent.db-shm", "agent.db.lock", "agent.db.owner"]) files.delete(name);
    return { files, originals };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Packs the rows of sessions into small segments. Returns what is read then: runs that were merged are other records. */
async function compacted(folder: string, originals: readonly Original[]): Promise<Original[]> {
  const path = join(folder, DATABASE);
  {
    const options = { segmentLength: 3_000, leastQuoted: LEAST_QUOTED, leastGain: Number.NEGATIVE_INFINITY };
    await using compactor = await compactSqlite(path, { dryRun: false, ...options });
    for (const { id } of originals) await compactor.compact(id);
    await compactor.finish();
  }
  await using store = await openStoreReadOnly({ kind: "sqlite", path }, { clock });
  const read: Original[] = [];
  for (const original of originals) {
    const records: OriginalRecord[] = [];
    for await (const page of (await store.stream(original.id)).pages)
      for (const { record } of page) records.push(toRecord(record.text));
    read.push({ ...original, records });
  }
  return read;
}

/** In several commits, so that the rows of sessions lie mixed. */
async function plant(store: SessionPersistence, { headerText, records }: Original): Promise<void> {
  const decoded = records.map(({ text }) => decodeRecord(text, {}).record);
  for (const batch of inBatches(decoded, [5, 1, 40, 300])) await store.importRecords(headerText, batch);
}

function options(encoding: Encoding) {
  return { clock, chunkWindowMs: 0, thread: "process", encoding, leastQuoted: LEAST_QUOTED } as const;
}
