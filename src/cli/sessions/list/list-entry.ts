import type { SessionHeader } from "../../../session/header.ts";
import { lastActive } from "../../../session/projections/outline.ts";
import type { OutlinedSession, SessionState } from "../../../store/outlines.ts";

/** `unsure`: nothing is wrong with what can be read, but the store below it is damaged. Found by `--check` only. */
export type ListedState = SessionState | "unsure";

/** A session of a list. Times are epoch milliseconds. */
export interface SessionEntry {
  readonly id: string;
  readonly title?: string;
  readonly state: ListedState;
  readonly reason?: string;
  readonly location?: string;
  /** When it was made, by its header. */
  readonly started?: number;
  /** Of a fork that of the session that it began with. */
  readonly firstTime?: number;
  /** Time of the last event that can be read, or when it was made where that is later; absent where neither is known. */
  readonly lastActive?: number;
  readonly turns?: number;
  /** Number of the last Turn, where it is open. */
  readonly openTurn?: number;
  readonly events?: number;
  /** Of the texts of all records. */
  readonly bytes?: number;
  readonly header?: SessionHeader;
}

/** @param isStoreDamaged whether a check found the store below the sessions damaged */
export function toEntry(
  { summary, outline, ...found }: OutlinedSession,
  isStoreDamaged = false,
): SessionEntry {
  const { id, header, location } = summary;
  const { lastTime: _, ...known } = outline ?? {};
  const active = lastActive(header, outline);
  const isSound = found.state === "ok" || found.state === "interrupted" || found.state === "empty";
  return {
    id,
    state: isSound && isStoreDamaged ? "unsure" : found.state,
    ...(found.reason === undefined ? {} : { reason: found.reason }),
    ...(location === undefined ? {} : { location }),
    ...(header === undefined ? {} : { started: header.createdAt, header }),
    ...(active === undefined ? {} : { lastActive: active }),
    ...known,
  };
}

const LAST_DATE = 8.64e15;

/** As `--json` prints it. Source: docs/cli.md. */
export function entryJson({ id, title, state, reason, location, ...known }: SessionEntry): object {
  const { started, firstTime, lastActive, turns, openTurn, events, bytes, header } = known;
  return {
    id,
    title,
    state,
    reason,
    location,
    startedAt: isoTime(started),
    firstEventAt: isoTime(firstTime),
    lastActiveAt: isoTime(lastActive),
    turns,
    openTurn,
    events,
    bytes,
    header,
  };
}

/** A number where no calendar goes that far. */
function isoTime(time: number | undefined): string | undefined {
  if (time === undefined) return undefined;
  return time > LAST_DATE ? String(time) : new Date(time).toISOString();
}
