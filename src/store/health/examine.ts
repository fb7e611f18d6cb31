import { dirname } from "node:path";
import { toStorageError } from "../errors.ts";
import { resolveStorePath } from "../paths.ts";
import type { StoreName } from "../store-name.ts";
import { type LockProbe, probeWriterLock } from "../writer-lock.ts";
import type { DatabaseReport, Examination, LogsReport, StoreState } from "./examination.ts";
import { finding, findingOf, type HealthFinding, sortFindings } from "./findings.ts";
import { judgeMedium, lookAtMedium, type MediumReport, nearestFolder } from "./medium.ts";
import { isMemoryMount } from "./mount.ts";
import {
  inScratch,
  judgeSyncs,
  leftovers,
  measureSyncs,
  type ProbeTools,
  type SyncReport,
} from "./sync-probe.ts";

export interface ExamineOptions extends ProbeTools {
  /** Whether syncs are measured and a store is tried, in a folder beside the store that is removed again. */
  readonly mayWrite: boolean;
}

/** How a Host makes what it acknowledges durable. */
export interface DurabilityReport {
  /** Of a database. */
  readonly journalMode?: "wal";
  readonly synchronous?: "full";
  /** Of session logs: how each commit is synced. */
  readonly sync?: "fdatasync";
  /** Whether it was tried on this file system just now, and read back. */
  readonly tried: boolean;
}

/** A store and what it stands on. */
export interface StoreHealth {
  readonly store: { readonly kind: StoreName["kind"]; readonly path: string; readonly state: StoreState };
  readonly lock: LockProbe;
  readonly durability: DurabilityReport;
  readonly fileSystem: MediumReport;
  /** Absent where nothing was measured. */
  readonly sync?: SyncReport;
  readonly database?: DatabaseReport;
  readonly logs?: LogsReport;
  /** The most serious first. */
  readonly findings: readonly HealthFinding[];
}

/**
 * Looks at a store, at what it lies on and at who holds it. Changes nothing of the store: no byte, and no time but that of
 * its folder, in which a folder for the measure is made and removed. What is wrong is a finding, not an error.
 * @throws StorageFailedError when the path cannot be used at all; the signal's reason
 */
export async function examineStore(name: StoreName, options: ExamineOptions): Promise<StoreHealth> {
  const path = resolveStorePath(name.path);
  const { lock, examination } = await examineFiles(name.kind, path);
  const { state, files, copyBytes, database, logs } = examination;
  const folder = nearestFolder(name.kind === "sqlite" || state === "refused" ? dirname(path) : path);
  const medium = look(folder);
  const about = judgeMedium(medium, { kind: name.kind, copyBytes });
  // Where nothing can be written, it needs not be said of each file.
  const isClosed = about.some(({ code }) => code === "not-writable");
  const own = examination.findings.filter(({ code }) => !isClosed || code !== "not-writable");
  const findings = [...judgeState(state, path, lock), ...own, ...about];
  if (state === "store") {
    files.addFolder(folder);
    findings.push(...files.judge());
  }
  const store = { kind: name.kind, path, state };
  const measured = await measure(store, medium, findings, options);
  findings.push(...measured.findings, ...leftovers(folder));
  return {
    store,
    lock,
    durability: durabilityOf(name.kind, measured.tried),
    fileSystem: medium,
    ...(measured.sync === undefined ? {} : { sync: measured.sync }),
    ...(database === undefined ? {} : { database }),
    ...(logs === undefined ? {} : { logs }),
    findings: sortFindings(findings),
  };
}

async function examineFiles(
  kind: StoreName["kind"],
  path: string,
): Promise<{ lock: LockProbe; examination: Examination }> {
  if (kind === "sqlite") {
    const { examineDatabase } = await import("../sqlite/health.ts");
    const lock = probeWriterLock(path);
    return { lock, examination: examineDatabase(path, lock) };
  }
  const { examineRoot, lockFiles } = await import("../jsonl/health.ts");
  const lock = probeWriterLock(path, lockFiles(path));
  return { lock, examination: examineRoot(path, lock) };
}

function look(folder: string): MediumReport {
  try {
    return lookAtMedium(folder);
  } catch (error) {
    throw toStorageError(error, "The folder of the store cannot be used", { path: folder });
  }
}

interface Measured {
  readonly sync?: SyncReport;
  readonly tried: boolean;
  readonly findings: readonly HealthFinding[];
}

/** Syncs and a trial in a folder beside the store, where one may and can be made. */
async function measure(
  { kind, state }: StoreHealth["store"],
  medium: MediumReport,
  known: readonly HealthFinding[],
  options: ExamineOptions,
): Promise<Measured> {
  const { folder } = medium;
  if (!options.mayWrite) {
    const hint = "Leave out --no-write to measure the syncs and to try what a Host sets.";
    return { tried: false, findings: [finding("not-tried", "Nothing was written", { hint })] };
  }
  const stops = known.some(({ code }) => code === "not-writable" || code === "storage-full");
  if (stops || state === "refused") return { tried: false, findings: [] };
  const isRefused = known.some(({ code }) => code === "network-file-system");
  let sync: SyncReport;
  try {
    sync = await inScratch(folder, options, async (scratch) => {
      const report = await measureSyncs(scratch, options);
      if (kind === "sqlite" && !isRefused) await tryDatabase(scratch);
      return report;
    });
  } catch (error) {
    options.signal.throwIfAborted();
    const failure = findingOf(toStorageError(error, "A store could not be tried here", { path: folder }));
    return { tried: false, findings: [failure] };
  }
  const isMemory = isMemoryMount({ type: medium.type ?? "", options: [] });
  const faults = isMemory ? [] : judgeSyncs(sync, folder);
  const tried = !isRefused;
  const isDurable = tried && !isMemory && faults.length === 0 && !known.some(isDoubt);
  const what =
    kind === "sqlite"
      ? "WAL mode and synchronous=FULL were set and read back here, on a store that was made for that"
      : "Syncs take as long as those of a disk";
  return { sync, tried, findings: isDurable ? [finding("durable", what)] : faults };
}

/** Whether a finding casts doubt on what a sync is worth. */
function isDoubt({ code }: HealthFinding): boolean {
  return code === "network-locks" || code === "no-barriers";
}

async function tryDatabase(folder: string): Promise<void> {
  const { tryStore } = await import("../sqlite/health.ts");
  tryStore(folder);
}

function durabilityOf(kind: StoreName["kind"], tried: boolean): DurabilityReport {
  return kind === "sqlite"
    ? { journalMode: "wal", synchronous: "full", tried }
    : { sync: "fdatasync", tried };
}

function judgeState(state: StoreState, path: string, lock: LockProbe): HealthFinding[] {
  const findings: HealthFinding[] = [];
  if (state === "absent") {
    const hint = "`holdfast serve` makes one. If there should be one, check the path.";
    findings.push(finding("no-store", "There is no store yet", { where: path, hint }));
  }
  if (state === "empty") {
    const hint = "`holdfast serve` makes a store of it.";
    findings.push(finding("no-store", "The file is empty and no store yet", { where: path, hint }));
  }
  if (lock.state === "held") {
    const { holder } = lock;
    const who = holder === undefined ? "another process" : `process ${holder.pid}, since ${holder.startedAt}`;
    findings.push(
      finding("in-use", `The store is in use by ${who}`, {
        hint: "Another Host is refused until that process ends. Reading works meanwhile.",
      }),
    );
  }
  if (lock.state === "unknown") {
    findings.push(
      finding("lock-unusable", lock.reason, {
        where: path,
        hint: "A Host could not take the lock. Look at the lock file: if no Host runs, it may be deleted.",
      }),
    );
  }
  return findings;
}
