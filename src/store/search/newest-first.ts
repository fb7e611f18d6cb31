import type { StoredSummary } from "../backend.ts";
import { decodeOwnHeader } from "../cold-read.ts";
import { HoldfastError } from "../errors.ts";
import type { SearchedSession } from "./searched-store.ts";

/** Reads all pages of a listing, and keeps of each session what a search needs: headers may be long. */
export function newestFirst(pages: Iterable<readonly StoredSummary[]>): SearchedSession[] {
  const found: { readonly session: SearchedSession; readonly createdAt: number }[] = [];
  for (const page of pages) {
    for (const { id, headerText, location, problem } of page) {
      const session = {
        id,
        ...(location === undefined ? {} : { location }),
        ...(problem === undefined ? {} : { problem }),
      };
      found.push({ session, createdAt: createdAt(id, headerText) });
    }
  }
  found.sort((a, b) => b.createdAt - a.createdAt || compare(a.session.id, b.session.id));
  return found.map(({ session }) => session);
}

/** By UTF-16 units, the same in any language. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** 0 where the header does not tell. */
function createdAt(id: string, headerText: string): number {
  try {
    return decodeOwnHeader(id, headerText).createdAt;
  } catch (error) {
    if (error instanceof HoldfastError) return 0;
    throw error;
  }
}
