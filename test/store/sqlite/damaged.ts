import { closeSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import type { EventDraft } from "../../../src/session/events.ts";
import { recordTexts } from "../../../src/session/records.ts";
import { type Finding, isError } from "../../../src/store/finding.ts";
import { type QuarantineItem, QuarantineReader } from "../../../src/store/quarantine-reader.ts";
import type { RepairStep } from "../../../src/store/repairer.ts";
import { examineSqlite } from "../../../src/store/sqlite/examine.ts";
import { openSqliteReadOnly } from "../../../src/store/sqlite/read-only.ts";
import { repairSqlite } from "../../../src/store/sqlite/repairer.ts";
import { verifySessions, verifyStore } from "../../../src/store/verify.ts";
import type { Place } from "./place.ts";

/* Damaged SQLite stores, and what is found and made of them. */

export const PAGE = 4096;

/** The texts of all events, by session. */
export type Contents = Readonly<Record<string, readonly string[]>>;

export interface Examination {
  /** What is wrong with the store, and with each session's header and rows, as far as it is an error. */
  readonly findings: readonly Finding[];
  readonly contents: Contents;
}

/** Everything that an examiner gives of a store. */
export async function examine(path: string, deep = false): Promise<Examination> {
  await using examiner = await examineSqlite(path, { deep });
  const findings: Finding[] = [];
  const contents: Record<string, string[]> = {};
  for await (const finding of examiner.checkStore()) findings.push(finding);
  for await (const session of examiner.sessions()) {
    findings.push(...session.findings);
    const texts: string[] = [];
    contents[session.id] = texts;
    for await (const item of session.items()) {
      if (item.kind === "damage") findings.push(item.finding);
      else for (const { record } of item.records) texts.push(...recordTexts(record));
    }
  }
  return { findings, contents };
}

/** What `verify` finds wrong. */
export async function errorsIn(path: string): Promise<Finding[]> {
  await using examiner = await examineSqlite(path);
  const findings: Finding[] = [];
  for (const reports of [verifyStore(examiner), verifySessions(examiner)]) {
    for await (const report of reports) {
      if (report.kind === "finding" && isError(report.finding)) findings.push(report.finding);
    }
  }
  return findings;
}

export interface Repaired {
  readonly steps: readonly RepairStep[];
  readonly helpless: readonly Finding[];
}

/** Plans and carries out a repair. */
export async function repair(path: string, ids?: readonly string[]): Promise<Repaired> {
  await using repairer = await repairSqlite(path);
  const plan = await repairer.plan(ids === undefined ? {} : { ids });
  for (const step of plan.steps) await repairer.carryOut(step);
  return plan;
}

/** What an ordinary reader gets of each session, up to its first fault, closers apart. */
export async function ordinaryContents(path: string): Promise<Contents> {
  await using store = await openSqliteReadOnly({ path, clock: () => 0 });
  const contents: Record<string, string[]> = {};
  for (const { id } of (await store.list({ limit: 1_000 })).items) {
    const texts: string[] = [];
    contents[id] = texts;
    try {
      for await (const page of (await store.stream(id)).pages) {
        for (const { record } of page) texts.push(...recordTexts(record));
      }
    } catch {
      // Only what precedes the damage is asked for.
    }
  }
  return contents;
}

/** Opens the store as a Host does, and goes on in each of its sessions. */
export async function goOn(place: Place): Promise<void> {
  await using store = await place.open();
  for (const { id } of (await store.list({ limit: 1_000 })).items) {
    await using session = (await store.prepare(id)).publish();
    await session.log.append({ type: "session/title", data: "it goes on" });
  }
}

export function piecesOf(path: string): QuarantineItem[] {
  using reader = new QuarantineReader(path);
  return [...reader.items()];
}

/** The rows in a quarantine file, each as its id and its body. */
export function rowsIn(path: string): string[] {
  return piecesOf(path).map((piece) =>
    piece.kind === "row" ? `${piece.values["rowid"]} ${piece.values["body"]}` : piece.kind,
  );
}

/** Changes bytes of a file in place; the file must be closed. */
export function overwrite(path: string, offset: number, bytes: Uint8Array): void {
  const file = openSync(path, "r+");
  try {
    writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

/** Flips one bit of a byte. */
export function flip(path: string, offset: number): void {
  const byte = readFileSync(path)[offset] ?? 0;
  overwrite(path, offset, Uint8Array.of(byte ^ 1));
}

/** Overwrites a page of a database; the header of the file stays. */
export function spoilPage(path: string, page: number, fill: number): void {
  const from = page === 1 ? 100 : 0;
  overwrite(path, (page - 1) * PAGE + from, Buffer.alloc(PAGE - from, fill));
}

export function pagesOf(path: string): number {
  return Math.ceil(statSync(path).size / PAGE);
}

/** A title of so many characters. */
export function long(n: number, length: number): EventDraft {
  return { type: "session/title", data: { n, text: "x".repeat(length) } };
}
