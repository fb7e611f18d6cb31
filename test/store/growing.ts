import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openCompactor } from "../../src/store/open-compactor.ts";
import { openRepairer } from "../../src/store/open-examiner.ts";
import { openStoreReadOnly } from "../../src/store/open-store.ts";
import type { Outlined } from "../../src/store/outline-reading.ts";
import { OutlineCache, type OutlineOptions, outlines } from "../../src/store/outlines.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { type FewStore, fewSessions, plantTurns } from "../fixtures/few-sessions.ts";
import { headerText, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import type { TempFolder } from "../fixtures/temp-folder.ts";

/* The session `s` of a store, looked at as a list does while it grows, and what may become of it. */

const TIME = 1_700_000_000_000;

/** How sessions were read: whole, or from where the cache knows them to. */
type Way = "whole" | "on";

interface Look {
  readonly found: readonly Outlined[];
  readonly ways: readonly Way[];
}

/** What one command would see of a store that may be open here. */
export async function lookInto(store: SessionPersistence, options: OutlineOptions = {}): Promise<Look> {
  const ways: Way[] = [];
  const watched = new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (key !== "stream") return value.bind(target);
      return async (...args: Parameters<SessionPersistence["stream"]>) => {
        const stream = await target.stream(...args);
        ways.push(stream.isContinued === true ? "on" : "whole");
        return stream;
      };
    },
  });
  const found: Outlined[] = [];
  for await (const { summary: _, ...outlined } of outlines(watched, options)) found.push(outlined);
  return { found, ways };
}

export async function look(folder: TempFolder, [, kind]: FewStore, isFresh = false): Promise<Look> {
  const name = parseStoreName(folder.at(kind));
  await using store = await openStoreReadOnly(name, { clock: () => 0 });
  return await lookInto(store, { cache: OutlineCache.open(folder.at("cache"), name), isFresh });
}

/** Looks with the cache and without: both must say the same. Returns how the session was read with it. */
export async function lookAgain(folder: TempFolder, kind: FewStore): Promise<readonly Way[]> {
  const { found, ways } = await look(folder, kind);
  await using store = await openStoreReadOnly(parseStoreName(folder.at(kind[1])), { clock: () => 0 });
  expect(found).toEqual((await lookInto(store)).found);
  return ways;
}

/** A store of one session of 120 events, which the cache knows. */
export async function known(kind: FewStore): Promise<TempFolder> {
  const folder = await fewSessions(kind, (store) => plantTurns(store, "s", { turns: 40 }));
  expect((await look(folder, kind)).ways).toEqual(["whole"]);
  return folder;
}

export function titled(seq: number, title = "More"): string {
  return JSON.stringify({ type: "session/title", seq, time: TIME + seq, data: { title } });
}

/** Appends titles until there are so many events. */
export function grow(
  folder: TempFolder,
  kind: FewStore,
  { to, title = "More" }: { to: number; title?: string },
) {
  return withStore(
    folder.at(kind[1]),
    async (store) => {
      const from = (await store.inspect("s")).log.length;
      const texts = Array.from({ length: to - from }, (_, k) => titled(from + k, title));
      await store.importRecords(headerText("s"), recordsOfTexts(texts));
    },
    kind[2],
  );
}

export function logOf(folder: TempFolder, [, , encoding]: FewStore): string {
  return folder.at("logs/--srv-x--/s", encoding === "none" ? "session.jsonl" : "session.jsonl.zstd");
}

export function change(path: string, sql: string): void {
  using database = new Database(path, { readwrite: true, create: false });
  database.run(sql);
}

/** Makes the session corrupt, and leaves the file the same one. */
export function damage(folder: TempFolder, kind: FewStore): void {
  if (kind[1] === "a.db") {
    change(folder.at(kind[1]), "UPDATE records SET body = replace(body, 'Say 20.', 'Say 99.')");
    return;
  }
  const path = logOf(folder, kind);
  const bytes = readFileSync(path);
  if (kind[2] === "none") bytes.write("]", bytes.indexOf("Say 20.") + 7);
  else bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  writeFileSync(path, bytes);
}

export async function repair(folder: TempFolder, [, kind]: FewStore): Promise<void> {
  await using repairer = await openRepairer(parseStoreName(folder.at(kind)));
  const { steps } = await repairer.plan();
  expect(steps).toHaveLength(1);
  for (const step of steps) await repairer.carryOut(step);
}

export async function compact(folder: TempFolder, [, kind]: FewStore): Promise<void> {
  await using compactor = await openCompactor(parseStoreName(folder.at(kind)), { dryRun: false });
  expect((await compactor.compact("s")).state).toBe("compacted");
}
