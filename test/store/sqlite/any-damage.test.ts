import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { EventDraft } from "../../../src/session/events.ts";
import { CorruptError } from "../../../src/store/errors.ts";
import { arbitrarySession } from "../../fixtures/arbitraries.ts";
import { type Contents, errorsIn, examine, goOn, long, ordinaryContents, repair } from "./damaged.ts";
import { Place } from "./place.ts";

/* Any store, any damage to its file: what is given was there, and what is repaired is sound. */

const RUNS = 15;
const FILE_HEADER = 100;
const PAGE_SIZES = [512, 4_096, 65_536] as const;

/** Something that happens to a file. Places are shares of it. */
interface Damage {
  readonly kind: "flip" | "zeros" | "garbage page" | "copied page" | "cut";
  readonly at: number;
  readonly from: number;
  readonly length: number;
}

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom("flip", "zeros", "garbage page", "copied page") },
    { weight: 1, arbitrary: fc.constant("cut" as const) },
  ),
  at: share,
  from: share,
  length: fc.integer({ min: 1, max: 3_000 }),
});

/** Damages bytes in place; returns what is left of them. */
function apply(bytes: Buffer, { kind, at, from, length }: Damage, pageSize: number): Buffer {
  const offset = FILE_HEADER + Math.floor(at * (bytes.length - FILE_HEADER));
  const pages = Math.floor(bytes.length / pageSize);
  const page = Math.floor(at * pages) * pageSize;
  switch (kind) {
    case "flip":
      bytes[offset] = (bytes[offset] ?? 0) ^ (1 << (length % 8));
      return bytes;
    case "zeros":
      return bytes.fill(0, offset, Math.min(bytes.length, offset + length));
    case "garbage page":
      for (let k = Math.max(page, FILE_HEADER); k < Math.min(page + pageSize, bytes.length); k += 1)
        bytes[k] = (k * length * 7919) >> 5;
      return bytes;
    case "copied page": {
      const source = Math.floor(from * pages) * pageSize;
      if (page > 0) bytes.copyWithin(page, source, source + pageSize);
      return bytes;
    }
    case "cut":
      return bytes.subarray(0, Math.max(pageSize, offset));
  }
}

/** Gives the database pages of another size, as somebody with a shell may. */
function setPageSize(place: Place, size: number): void {
  place.run(
    "PRAGMA journal_mode = DELETE",
    `PRAGMA page_size = ${size}`,
    "VACUUM",
    "PRAGMA journal_mode = WAL",
  );
}

function expectWasThere(found: Contents, sound: Contents): void {
  const all = new Set(Object.values(sound).flat());
  for (const texts of Object.values(found)) expect(texts.filter((text) => !all.has(text))).toEqual([]);
}

/** Beginnings of what was there, which end as interrupted Turns do. */
function expectBeginnings(repaired: Contents, sound: Contents): void {
  for (const [id, texts] of Object.entries(repaired)) {
    const own = sound[id];
    const kept = Math.max(
      ...(own === undefined ? Object.values(sound) : [own]).map((whole) => common(texts, whole)),
    );
    const closers = texts.slice(kept);
    const types = closers.map((text) => String(JSON.parse(text).type));
    expect(types.filter((type) => !["tool/result", "step/end", "turn/end"].includes(type))).toEqual([]);
    if (closers.length > 0) expect(closers.at(-1)).toContain('"interrupted"');
  }
}

/** How many texts two logs begin with that are the same. */
function common(left: readonly string[], right: readonly string[]): number {
  const end = left.findIndex((text, k) => text !== right[k]);
  return end < 0 ? left.length : end;
}

/** Repairs a store; false where nothing is left to repair. */
async function isRepaired(path: string): Promise<boolean> {
  try {
    await repair(path);
    return true;
  } catch (error) {
    if (error instanceof CorruptError) return false;
    throw error;
  }
}

test("whatever happens to the bytes of a store, nothing is read that was not there, and its repair is sound", async () => {
  const stores = fc.tuple(arbitrarySession(), arbitrarySession(), fc.constantFrom(...PAGE_SIZES));
  const damages = fc.array(damage, { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(stores, damages, async ([first, second, pageSize], happened) => {
      using place = new Place();
      const rows = Array.from({ length: 30 }, (_, n): EventDraft => long(n, n * 150));
      await place.fill({ first, second, "long rows": rows });
      setPageSize(place, pageSize);
      const sound = await ordinaryContents(place.path);
      expect((await examine(place.path, true)).contents).toEqual(sound);
      const bytes = happened.reduce<Buffer>(
        (now, own) => apply(now, own, pageSize),
        readFileSync(place.path),
      );
      for (const name of readdirSync(place.folder)) rmSync(join(place.folder, name));
      writeFileSync(place.path, bytes);

      expectWasThere((await examine(place.path)).contents, sound);
      expectWasThere((await examine(place.path, true)).contents, sound);
      if (!(await isRepaired(place.path))) {
        expect((await examine(place.path, true)).contents).toEqual({});
        expect(readFileSync(place.path).equals(bytes)).toBe(true);
        return;
      }
      expect(await errorsIn(place.path)).toEqual([]);
      expectBeginnings(await ordinaryContents(place.path), sound);
      expect((await repair(place.path)).steps).toEqual([]);
      await goOn(place);
    }),
    { numRuns: RUNS },
  );
}, 120_000);
