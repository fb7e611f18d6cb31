import type { Finding } from "../finding.ts";
import type { ReadAccess } from "./access.ts";
import { type ExaminedHeader, examineHeader, idOf } from "./examined-header.ts";
import type { PageScan } from "./page-scan.ts";
import { walkSessions } from "./session-walk.ts";

/** What the table `sessions` says, as far as it can be read. */
export interface ListedSessions {
  readonly sessions: readonly ExaminedHeader[];
  readonly numbers: ReadonlySet<number>;
  /** Rows that cannot be read; sessions may be missing then. */
  readonly damage: readonly Finding[];
}

export function listSessions(access: ReadAccess, path: string): ListedSessions {
  const sessions: ExaminedHeader[] = [];
  const damage: Finding[] = [];
  for (const walked of walkSessions(access, path)) {
    if (walked.kind === "row") sessions.push(examineHeader(walked.number, walked.row, path));
    else damage.push(walked.finding);
  }
  return { sessions, numbers: new Set(sessions.map(({ number }) => number)), damage };
}

/** A session that the table does not lead to. */
export interface LostSession {
  readonly header: ExaminedHeader;
  /**
   * Whether it belongs to the store. Otherwise it is what is left of one that was deleted, or may be.
   */
  readonly isKnown: boolean;
}

/**
 * Sessions of a damaged store, of which something lies in pages that the table does not lead to. One is known by its row
 * or its key; by its rows alone where no page that holds them is free: whatever was damaged, its row was there.
 */
export function* lostSessions(
  { sessions, numbers }: ListedSessions,
  scan: PageScan,
  path: string,
): Generator<LostSession> {
  // Of two sessions with one id, the one that the table leads to was made last.
  const keys = new Set(sessions.flatMap(({ key }) => key ?? []));
  const found = [...new Set([...scan.headers.keys(), ...scan.numbers])].sort((a, b) => a - b);
  for (const number of found) {
    if (numbers.has(number)) continue;
    const row = scan.headers.get(number);
    const key = row?.key ?? scan.keys.get(number);
    const isNamed = key !== undefined && !keys.has(key);
    if (isNamed) keys.add(key);
    if (isNamed && row !== undefined) yield { header: examineHeader(number, row, path), isKnown: true };
    else if (scan.hasRows(number)) {
      const isKnown = isNamed || (key === undefined && scan.isFreeKnown);
      yield { header: headless(number, isNamed ? key : undefined, path), isKnown };
    }
  }
}

/** Rows without a row of `sessions`. */
function headless(number: number, key: string | undefined, path: string): ExaminedHeader {
  const id = (key === undefined ? undefined : idOf(key)) ?? `session-${number}`;
  const finding: Finding = {
    code: "header-damaged",
    message: key === undefined ? "The rows belong to no session" : "The header of the session is gone",
    place: { path, sessionId: id },
    expected: `a row of sessions with the number ${number}`,
    found: "none",
  };
  return { number, id, findings: [finding], ...(key === undefined ? {} : { key }) };
}
