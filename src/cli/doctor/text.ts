import { formatMilliseconds } from "../../store/health/sync-probe.ts";
import { printableLine } from "../printable.ts";
import { storeFlag } from "../sessions/next-step.ts";
import { hanging, labelled } from "../wrap.ts";
import type { DoctorReport } from "./doctor.ts";
import { formatBytes } from "./units.ts";

type Line = readonly [label: string, value: string];

const LEVEL_WIDTH = "problem".length;

/**
 * A report as a person reads it: what there is, then what was found.
 * @param columns of the terminal; lines are not wrapped where there is none
 */
export function reportText(report: DoctorReport, columns: number | undefined): string {
  const lines = [
    ...programLines(report),
    ...storeLines(report),
    ...mediumLines(report),
    ...databaseLines(report),
    ...logLines(report),
  ];
  const width = Math.max(...lines.map(([label]) => label.length));
  const line = (label: string, value: string, room: number) =>
    `${labelled(`${label.padEnd(room)}  `, printableLine(value), columns)}\n`;
  const facts = lines.map(([label, value]) => line(label, value, width));
  const findings = report.findings
    .flatMap(findingLines)
    .map(([label, value]) => line(label, value, LEVEL_WIDTH));
  return `${facts.join("")}\n${findings.join("")}${contentsText(report, columns)}`;
}

/** What a person may take a sound report for. */
function contentsText({ store, findings }: DoctorReport, columns: number | undefined): string {
  if (store === undefined || (store.state !== "store" && store.state !== "refused")) return "";
  if (findings.some(({ code }) => code === "not-found")) return "";
  const text = "The contents were not checked. That is done by:";
  const command = printableLine(`holdfast sessions verify ${storeFlag(store)}`);
  // A command that is broken cannot be copied.
  const fits = columns === undefined || Bun.stringWidth(`${text} ${command}`) <= columns;
  return `\n${fits ? `${text} ${command}` : `${hanging(text, columns)}\n  ${command}`}\n`;
}

function findingLines({ level, code, what, where, hint }: DoctorReport["findings"][number]): Line[] {
  return [
    [level, `${code}: ${what}`],
    ...(where === undefined ? [] : [["", `where: ${where}`] as const]),
    ...(hint === undefined ? [] : [["", `hint: ${hint}`] as const]),
  ];
}

function programLines({ version, platform, bun, sqlite }: DoctorReport): Line[] {
  return [["Holdfast", `${version}, ${platform}, Bun ${bun}, SQLite ${sqlite}`]];
}

function storeLines({ store, lock, durability }: DoctorReport): Line[] {
  if (store === undefined) return [["Store", "none: a session lives in memory and ends with its process"]];
  return [
    ["Store", `${store.kind}:${store.path}`],
    ["State", STATES[store.state]],
    ...(lock === undefined ? [] : [lockLine(lock)]),
    ...(durability === undefined ? [] : [durabilityLine(durability)]),
  ];
}

const STATES = {
  store: "a store",
  absent: "nothing is there yet",
  empty: "an empty file",
  refused: "refused, see below",
} as const;

function lockLine(lock: NonNullable<DoctorReport["lock"]>): Line {
  if (lock.state !== "held") return ["Lock", lock.state];
  const { holder } = lock;
  return ["Lock", holder === undefined ? "held" : `held by process ${holder.pid}, since ${holder.startedAt}`];
}

function durabilityLine({ journalMode, tried }: NonNullable<DoctorReport["durability"]>): Line {
  const how = journalMode === undefined ? "fdatasync after every commit" : "WAL, synchronous=FULL";
  return ["Durability", tried ? `${how}; tried here` : `${how}; not tried here`];
}

function mediumLines({ fileSystem, sync }: DoctorReport): Line[] {
  if (fileSystem === undefined) return [];
  const { type = "unknown", network, readOnly, freeBytes, totalBytes, folder } = fileSystem;
  const traits = [type, network ? "network" : "local", ...(readOnly ? ["read-only"] : [])];
  return [
    ["Folder", folder],
    ["File system", traits.join(", ")],
    ["Free space", `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)}`],
    ["Sync", sync === undefined ? "not measured" : syncText(sync)],
  ];
}

function syncText({ p50, max, count }: NonNullable<DoctorReport["sync"]>): string {
  return `${formatMilliseconds(p50)} (median of ${count}), longest ${formatMilliseconds(max)}`;
}

function databaseLines({ store, database }: DoctorReport): Line[] {
  if (database === undefined) return [];
  const { bytes, walBytes, journalBytes, journalMode, pageSize, schemaVersion } = database;
  if (store?.state === "absent" && walBytes + journalBytes === 0) return keptLines(database);
  const facts = [
    formatBytes(bytes),
    ...(pageSize === undefined ? [] : [`pages of ${formatBytes(pageSize)}`]),
    ...(schemaVersion === undefined ? [] : [`schema version ${schemaVersion}`]),
    ...(journalMode === undefined ? [] : [journalMode === "wal" ? "in WAL mode" : "in rollback mode"]),
  ];
  return [
    ["Database", facts.join(", ")],
    ["WAL", formatBytes(walBytes)],
    ...(journalBytes === 0 ? [] : [["Journal", formatBytes(journalBytes)] as const]),
    ...keptLines(database),
  ];
}

function logLines({ logs }: DoctorReport): Line[] {
  if (logs === undefined) return [];
  return [
    ["Logs, zstd", tallyText(logs.zstd)],
    ["Logs, plain", tallyText(logs.plain)],
    ...(logs.later.files === 0 ? [] : [["Later logs", tallyText(logs.later)] as const]),
    ["Indexes", tallyText(logs.indexes)],
    ...keptLines(logs),
  ];
}

type Tally = NonNullable<DoctorReport["logs"]>["zstd"];

function keptLines({ backups, quarantine }: { readonly backups: Tally; readonly quarantine: Tally }): Line[] {
  return [
    ["Backups", tallyText(backups)],
    ["Quarantine", tallyText(quarantine)],
  ];
}

function tallyText({ files, bytes }: Tally): string {
  if (files === 0) return "none";
  return `${files} ${files === 1 ? "file" : "files"}, ${formatBytes(bytes)}`;
}
