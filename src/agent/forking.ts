import { UnsupportedFormatError } from "../session/errors.ts";
import type { SessionHeader } from "../session/header.ts";
import type { SessionPersistence } from "../store/persistence.ts";
import { storeSeed } from "../store/seed.ts";
import { ForkBoundaryError } from "./errors.ts";

export interface ForkOptions {
  /** The session to fork. */
  readonly sessionId: string;
  readonly newSessionId: string;
  /** Seq of the `turn/end` that the fork ends with; when absent the last one, and a title that was given since. */
  readonly boundary?: number;
}

export interface StoredFork {
  readonly header: SessionHeader & Required<Pick<SessionHeader, "parentSession" | "seedLength">>;
  /** Seq of the last `turn/end` that was copied. */
  readonly boundary: number;
}

/** Behind the end of a Turn these leave the conversation as it is. */
const BESIDE: ReadonlySet<string> = new Set([
  "session/title",
  "session/title-llm-request",
  "session/end-seed",
]);

/**
 * Stores a new session that begins with a copy of another one, up to the end of a Turn. The parent is left alone, and read
 * twice: once through, for where to cut and whether it is sound, and once to copy it. Memory is bounded. How the copy is
 * stored: {@link storeSeed}.
 * The fork has `seedLength` events of its parent, and then the mark of the seed's end.
 * @throws NotFoundError, AlreadyExistsError, ForkBoundaryError, UnsupportedFormatError, CorruptError
 */
export async function storeFork(
  persistence: SessionPersistence,
  { sessionId, newSessionId, boundary }: ForkOptions,
  now: number,
): Promise<StoredFork> {
  const { parent, end, length } = await readParent(persistence, sessionId, boundary);
  const { cwd, agentPreset } = parent;
  const header = {
    version: 0,
    id: newSessionId,
    createdAt: now,
    ...(cwd === undefined ? {} : { cwd }),
    parentSession: sessionId,
    seedLength: length,
    delegationDepth: 0,
    ...(agentPreset === undefined ? {} : { agentPreset }),
  } as const;
  // Whether the id is free, and the header one that can be stored.
  await (await persistence.create(header))[Symbol.asyncDispose]();
  const { pages } = await persistence.stream(sessionId);
  await storeSeed(persistence, header, pages, header.seedLength, now);
  return { header, boundary: end };
}

interface Cut {
  readonly parent: SessionHeader;
  /** Seq of the `turn/end`. */
  readonly end: number;
  /** How many events are copied. */
  readonly length: number;
}

/** Where to cut, once the parent is read through: what keeps it from being resumed keeps it from being forked too. */
async function readParent(
  persistence: SessionPersistence,
  sessionId: string,
  boundary: number | undefined,
): Promise<Cut> {
  const { header, pages } = await persistence.stream(sessionId);
  let end: number | undefined;
  let length = 0;
  /** Whether a title that comes next was given before the conversation went on. */
  let isBeside = false;
  let unknown: { readonly type: string; readonly seq: number } | undefined;
  for await (const page of pages) {
    for (const { record, unknownType } of page) {
      const { type, seq } = record;
      if (type === "turn/end" && (boundary ?? seq) === seq) {
        end = seq;
        length = seq + 1;
        isBeside = boundary === undefined;
      } else isBeside &&= BESIDE.has(type);
      if (isBeside && type === "session/title") length = seq + 1;
      if (unknownType) unknown ??= { type, seq };
    }
  }
  if (end === undefined) throw new ForkBoundaryError(sessionId, boundary);
  if (unknown === undefined || unknown.seq > end) return { parent: header, end, length };
  throw new UnsupportedFormatError(
    `The log holds an event of the unknown type ${JSON.stringify(unknown.type)}`,
    {
      place: { sessionId, seq: unknown.seq, eventType: unknown.type },
      hint: "Fork before that event, or use the program that wrote it.",
    },
  );
}
