import { UsageError } from "../../../host/usage.ts";
import { isEvent, isStrict, type SessionEvent } from "../../../session/events.ts";
import { HoldfastError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { pagesIn, type SeqRange } from "./read-session.ts";

/** Turns by their numbers, the last one included. */
export interface Turns {
  readonly first: number;
  readonly last: number;
}

/** `3`, or `3..5`. @throws UsageError */
export function parseTurns(text: string): Turns {
  const [, first, last = first] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(text) ?? [];
  const turns = { first: Number(first), last: Number(last) };
  if (first !== undefined && turns.first <= turns.last) return turns;
  throw new UsageError(
    `--turn cannot be ${JSON.stringify(text)}`,
    "It must be the number of a Turn, as the transcript tells it, or the first and the last one: 3..5",
  );
}

type Reading = Pick<SessionPersistence, "readFrom" | "stream">;

/**
 * The events of Turns: from the beginning of the first one to that of the Turn behind the last one, or to the end. Their
 * beginnings are looked for with a few small reads. What damage or a log of another kind keeps from being found so, is read
 * up to; damage behind the first one is left to whoever reads on.
 * @throws UsageError where there is no such Turn; the damage where that may be why
 */
export async function rangeOfTurns(store: Reading, id: string, { first, last }: Turns): Promise<SeqRange> {
  const finder = new TurnFinder(store, id);
  const found = await finder.first(first);
  const from = isStartOf(first, found) ? found.seq : await readUpTo(store, id, first, found);
  if (from === undefined) throw await noTurn(finder, id, first);
  const end = last === first ? undefined : await finder.first(last);
  const next = await finder.first(last + 1);
  const isThere = last === first || end?.turn === last;
  if (isThere && isStartOf(last + 1, next) && next.seq > from) return { from, to: next.seq - 1 };
  const scanned = await readBehind(store, id, isStartOf(last, end) ? Math.max(from, end.seq) : from, last);
  if (scanned.isMissing) throw await noTurn(finder, id, last);
  return { from, ...(scanned.next === undefined ? {} : { to: scanned.next - 1 }) };
}

function isStartOf(turn: number, sign: Sign | undefined): sign is Sign {
  return sign?.isStart === true && sign.turn === turn;
}

async function noTurn(finder: TurnFinder, id: string, turn: number): Promise<HoldfastError> {
  const there = await finder.there();
  return finder.damage ?? new UsageError(`The session ${JSON.stringify(id)} has no Turn ${turn}`, there);
}

/**
 * The seq at which a Turn begins, of a log that is read from its beginning. Behind damage it is that of the event of the
 * Turn that was found.
 */
async function readUpTo(
  store: Reading,
  id: string,
  turn: number,
  found: Sign | undefined,
): Promise<number | undefined> {
  try {
    for await (const sign of signsFrom(store, id, 0)) {
      if (sign.turn === turn) return sign.seq;
      if (sign.turn > turn) return undefined;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (found?.turn === turn) return found.seq;
    throw error;
  }
}

/** Reads on from a seq to the Turn behind `last`. What it is not known of for damage is neither there nor missing. */
async function readBehind(
  store: Reading,
  id: string,
  from: number,
  last: number,
): Promise<{ readonly next?: number; readonly isMissing: boolean }> {
  let isThere = false;
  try {
    for await (const { turn, seq } of signsFrom(store, id, from)) {
      if (turn > last) return { next: seq, isMissing: !isThere };
      isThere ||= turn === last;
    }
    return { isMissing: !isThere };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { isMissing: false };
  }
}

/** What tells its Turn, from a seq on. @throws as the stream does */
async function* signsFrom(store: Reading, id: string, from: number): AsyncGenerator<Sign> {
  for await (const page of pagesIn(await store.stream(id, { fromSeq: from }), { from })) {
    for (const { event } of page) {
      const sign = event && signOf(event);
      if (sign !== undefined) yield sign;
    }
  }
}

/** An event that tells of which Turn it is. */
interface Sign {
  readonly seq: number;
  readonly turn: number;
  /** Whether the Turn begins with it. */
  readonly isStart: boolean;
}

/** Events that are read at first where one is looked for that tells its Turn, and at most: each may be large. */
const FEW = 4;
const MANY = 256;

/** Finds Turns by asking for few events at a time: in a log they go up. */
class TurnFinder {
  readonly #store: Pick<SessionPersistence, "readFrom">;
  readonly #id: string;
  /** What kept a part of the log from being read. */
  damage: HoldfastError | undefined;

  constructor(store: Pick<SessionPersistence, "readFrom">, id: string) {
    this.#store = store;
    this.#id = id;
  }

  /** The first event of a Turn, or of the next one that there is. */
  async first(turn: number): Promise<Sign | undefined> {
    const { behind } = await this.#border((sign) => sign.turn < turn);
    return behind;
  }

  /** Which Turns there are, in words. */
  async there(): Promise<string> {
    const first = await this.#signFrom(0);
    const { before: last } = await this.#border(() => true);
    if (first === undefined || last === undefined) return "It has none yet.";
    return last.turn === first.turn
      ? `It has only Turn ${first.turn}.`
      : `It has the Turns ${first.turn} to ${last.turn}.`;
  }

  /** The last event that tells its Turn and stands before a border, and the first one behind it. */
  async #border(
    isBefore: (sign: Sign) => boolean,
  ): Promise<{ readonly before: Sign | undefined; readonly behind: Sign | undefined }> {
    let low = -1;
    let high = 0;
    let before: Sign | undefined;
    let behind: Sign | undefined;
    const look = async (seq: number): Promise<boolean> => {
      const sign = await this.#signFrom(seq);
      if (sign === undefined || !isBefore(sign)) {
        high = seq;
        behind = sign;
        return false;
      }
      low = sign.seq;
      before = sign;
      return true;
    };
    for (let seq = 0; await look(seq); ) seq = low * 2 + 1;
    while (high - low > 1) await look(Math.floor((low + high) / 2));
    return { before, behind };
  }

  /** The first event from a seq on that tells its Turn; nothing where there is none, or none that can be read. */
  async #signFrom(from: number): Promise<Sign | undefined> {
    try {
      for (let seq = from, limit = FEW; ; limit = Math.min(2 * limit, MANY)) {
        const events = await this.#store.readFrom(this.#id, seq, { limit });
        for (const event of events) {
          const sign = signOf(event);
          if (sign !== undefined) return sign;
        }
        if (events.length < limit) return undefined;
        seq += events.length;
      }
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.damage = error;
      return undefined;
    }
  }
}

/** A message that stands in for others may be of an earlier Turn. */
function signOf(event: SessionEvent): Sign | undefined {
  if (!isStrict(event) || isEvent(event, "user/message")) return undefined;
  const isInPlace = event.surfaceOp === undefined || event.surfaceOp === "append";
  if (!isInPlace || !("turn" in event.data)) return undefined;
  const { turn } = event.data;
  return typeof turn === "number"
    ? { seq: event.seq, turn, isStart: isEvent(event, "turn/start") }
    : undefined;
}
