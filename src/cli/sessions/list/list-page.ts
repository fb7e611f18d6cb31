import { z } from "zod";
import { UsageError } from "../../../host/usage.ts";
import type { SessionEntry } from "./list-entry.ts";

/**
 * Where a session stands in a list: the time of its last activity, its id, and a number made of its file, which tells
 * those of one id apart. All of it comes from the session, so that a place stays what it is while others come and go.
 */
type Place = readonly [time: number | null, id: string, file: number];

const placeSchema = z.tuple([z.number().nullable(), z.string(), z.number()]);

/** A part of a list. */
export interface ListPage {
  readonly entries: readonly SessionEntry[];
  /** Sessions of the whole list. */
  readonly total: number;
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * The newest activity first; where it is not known, last.
 * @param limit most sessions of the page
 * @param cursor where the page before ended
 */
export function pageOf(all: readonly SessionEntry[], limit: number, cursor: Place | undefined): ListPage {
  const placed = all.map((entry) => ({ entry, place: placeOf(entry) }));
  placed.sort((a, b) => compare(a.place, b.place));
  const from = cursor === undefined ? 0 : placed.findIndex(({ place }) => compare(place, cursor) > 0);
  const page = from < 0 ? [] : placed.slice(from, from + limit);
  const last = page.at(-1);
  const isLast = last === undefined || last === placed.at(-1);
  const entries = page.map(({ entry }) => entry);
  return { entries, total: all.length, ...(isLast ? {} : { nextCursor: cursorOf(last.place) }) };
}

/** @throws UsageError */
export function parseCursor(text: string): Place {
  const place = placeSchema.safeParse(tryParse(Buffer.from(text, "base64url").toString()));
  if (place.success) return place.data;
  throw new UsageError(
    `--cursor cannot be ${JSON.stringify(text)}`,
    "Give one that `holdfast sessions list --limit` has told.",
  );
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function placeOf({ id, lastActive, location = "" }: SessionEntry): Place {
  return [lastActive ?? null, id, Bun.hash.crc32(location)];
}

function compare(a: Place, b: Place): number {
  const [aTime, bTime] = [a[0] ?? -1, b[0] ?? -1];
  if (aTime !== bTime) return bTime - aTime;
  if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1;
  return a[2] - b[2];
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No cursor then: whoever asked says so.
    return undefined;
  }
}
