import { HEADER_MEMBERS, newHeader, type SessionHeader, serialiseHeader } from "../session/header.ts";
import { measure, streamIfAny } from "./copy.ts";
import { CopyConflictError, CorruptError } from "./errors.ts";
import type { ExaminedSession } from "./examiner.ts";
import type { SessionPersistence, SessionStream } from "./persistence.ts";
import { type Foreseen, type ForeseeOptions, foresee } from "./salvage-foreseen.ts";

export interface PlaceOptions extends ForeseeOptions {
  /** Epoch milliseconds, for the header of the new session. */
  readonly clock: () => number;
  /** Id of the new session; else it is made of the old one. */
  readonly newId?: string;
}

/** Where the new session goes: a free id, or a salvage of the same source that was cut off. */
export interface SalvagePlace {
  readonly newId: string;
  readonly headerText: string;
  /** Events that are there. */
  readonly have: number;
  readonly isTorn: boolean;
}

/** Looks for the place. @throws CopyConflictError where the id that was asked for is taken by something else */
export async function findPlace(
  source: ExaminedSession,
  target: SessionPersistence,
  whole: Foreseen,
  options: PlaceOptions,
): Promise<SalvagePlace> {
  for (let k = 1; ; k += 1) {
    const newId = options.newId ?? `${source.id}-salvaged${k === 1 ? "" : `-${k}`}`;
    const existing = await streamIfAny(target, newId, options);
    if (existing === undefined) {
      const headerText = newHeaderText(source, newId, options.clock());
      return { newId, headerText, have: 0, isTorn: false };
    }
    const begun = await findBeginning(source, existing, whole, options);
    if (begun !== undefined) return { newId, headerText: existing.headerText, ...begun };
    if (options.newId !== undefined) throw new CopyConflictError(newId, "is another one");
  }
}

/** How much of the new session this one is; nothing where it is another session, or gone on with. */
async function findBeginning(
  source: ExaminedSession,
  existing: SessionStream,
  { events, digest }: Foreseen,
  options: PlaceOptions,
): Promise<Pick<SalvagePlace, "have" | "isTorn"> | undefined> {
  if (existing.header.parentSession !== source.id) return undefined;
  try {
    const had = await measure(existing);
    if (had.events > events) return undefined;
    const expected = had.events === events ? digest : (await foresee(source, had.events, options)).prefix;
    return had.digest === expected ? { have: had.events, isTorn: had.torn } : undefined;
  } catch (error) {
    if (error instanceof CorruptError) return undefined;
    throw error;
  }
}

/** The header of the new session: what is known of the old one, its own id and time, and whose child it is. */
function newHeaderText({ id, header, headerText }: ExaminedSession, newId: string, now: number): string {
  const { seedLength: _, ...known }: Partial<SessionHeader> = header ?? {};
  const made = newHeader({ ...known, version: 0, id: newId, createdAt: now, parentSession: id });
  const text = serialiseHeader(made);
  if (header === undefined || headerText === undefined) return text;
  // Members that this version does not know stay.
  const stored: Readonly<Record<string, unknown>> = JSON.parse(headerText);
  const unknown = Object.entries(stored).filter(([key]) => !KNOWN_MEMBERS.has(key));
  return JSON.stringify({ ...JSON.parse(text), ...Object.fromEntries(unknown) });
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set(["type", ...HEADER_MEMBERS]);
