import { UnsupportedFormatError } from "../session/errors.ts";
import type { SessionHeader } from "../session/header.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import { storeSeed } from "../store/seed.ts";
import { ForkBoundaryError } from "./errors.ts";

export interface ForkOptions {
  /** The session to fork. */
  readonly sessionId: string;
  readonly newSessionId: string;
  /** Seq of the `turn/end` that the fork ends with; the last one when absent. */
  readonly boundary?: number;
}

export type ForkHeader = SessionHeader & Required<Pick<SessionHeader, "parentSession" | "seedLength">>;

/**
 * Stores a new session that begins with a copy of another one, up to the end of a Turn. The parent is left alone, and read
 * twice: once through, for where to cut and whether it is sound, and once to copy it. Memory is bounded. How the copy is
 * stored: {@link storeSeed}.
 * @returns the header of the fork, which has `seedLength` events and then the mark of the seed's end
 * @throws NotFoundError, AlreadyExistsError, ForkBoundaryError, UnsupportedFormatError, CorruptError
 */
export async function storeFork(
  persistence: SessionPersistence,
  { sessionId, newSessionId, boundary }: ForkOptions,
  now: number,
): Promise<ForkHeader> {
  const { parent, end } = await readParent(persistence, sessionId, boundary);
  const { cwd, agentPreset } = parent;
  const header = {
    version: 0,
    id: newSessionId,
    createdAt: now,
    ...(cwd === undefined ? {} : { cwd }),
    parentSession: sessionId,
    seedLength: end + 1,
    delegationDepth: 0,
    ...(agentPreset === undefined ? {} : { agentPreset }),
  } as const;
  // Whether the id is free, and the header one that can be stored.
  await (await persistence.create(header))[Symbol.asyncDispose]();
  const { pages } = await persistence.stream(sessionId);
  await storeSeed(persistence, header, pages, header.seedLength, now);
  return header;
}

/** Where to cut, once the parent is read through: what keeps it from being resumed keeps it from being forked too. */
async function readParent(
  persistence: SessionPersistence,
  sessionId: string,
  boundary: number | undefined,
): Promise<{ readonly parent: SessionHeader; readonly end: number }> {
  const { header, pages } = await persistence.stream(sessionId);
  let end: number | undefined;
  let unknown: { readonly type: string; readonly seq: number } | undefined;
  for await (const page of pages) {
    for (const { record, unknownType } of page) {
      const { type, seq } = record;
      if (type === "turn/end" && (boundary ?? seq) === seq) end = seq;
      if (unknownType) unknown ??= { type, seq };
    }
  }
  if (end === undefined) throw new ForkBoundaryError(sessionId, boundary);
  if (unknown === undefined || unknown.seq > end) return { parent: header, end };
  throw new UnsupportedFormatError(
    `The log holds an event of the unknown type ${JSON.stringify(unknown.type)}`,
    {
      place: { sessionId, seq: unknown.seq, eventType: unknown.type },
      hint: "Fork before that event, or use the program that wrote it.",
    },
  );
}
