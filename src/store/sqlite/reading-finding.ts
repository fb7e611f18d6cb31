import type { Place } from "../../session/errors.ts";
import { CorruptError, toStorageError } from "../errors.ts";
import type { Finding } from "../finding.ts";

/** What was expected where a finding comes from SQLite itself, which cannot read a page. */
export const READABLE = "rows that SQLite can read";

/** What SQLite threw at a read, as a finding: damage, or something that keeps this user from reading. */
export function readingFinding(error: unknown, message: string, place: Place): Finding {
  const typed = toStorageError(error, message, place);
  const found = error instanceof Error ? error.message : String(error);
  const code = typed instanceof CorruptError ? "damaged" : "unreadable";
  return { code, message, place, expected: READABLE, found };
}
