import type { Finding } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { readingFinding } from "./reading-finding.ts";
import { NUMBERS_END } from "./row-walk.ts";
import selectNextSession from "./sql/select-next-session.sql" with { type: "text" };
import selectSessionsAfter from "./sql/select-sessions-after.sql" with { type: "text" };
import { type WalkedTable, walkTable } from "./table-walk.ts";

const PAGE_ROWS = 256;

/** A row of `sessions`, whatever is in it, or rows that cannot be read. */
export type WalkedSession =
  | { readonly kind: "row"; readonly number: number; readonly row: unknown }
  | { readonly kind: "damage"; readonly finding: Finding };

const SESSIONS: WalkedTable = {
  page: (database, from) => database.query(selectSessionsAfter).iterate({ from, limit: PAGE_ROWS }),
  isFull: (rows) => rows.length >= PAGE_ROWS,
  look: (database, from) => database.query(selectNextSession).get({ from }),
  positionOf: numberOf,
  end: NUMBERS_END,
};

/** The rows of `sessions` in the order of their numbers, past what is damaged. Throws at no damage. */
export function* walkSessions(access: ReadAccess, path: string): Generator<WalkedSession> {
  let last = -NUMBERS_END;
  for (const stretch of walkTable(access, SESSIONS, last)) {
    if (stretch.kind === "error") {
      const finding = readingFinding(stretch.error, "Rows of the table sessions cannot be read", { path });
      yield { kind: "damage", finding };
      continue;
    }
    for (const row of stretch.rows) {
      const number = numberOf(row);
      // Out of order only where the tree of the table is damaged.
      if (number === undefined || number < last) continue;
      last = number + 1;
      yield { kind: "row", number, row };
    }
  }
}

function numberOf(row: unknown): number | undefined {
  const number: unknown = typeof row === "object" && row !== null && "number" in row ? row.number : undefined;
  return typeof number === "number" ? number : undefined;
}
