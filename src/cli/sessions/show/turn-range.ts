import { UsageError } from "../../../host/usage.ts";
import { isEvent, isStrict, type SessionEvent } from "../../../session/events.ts";
import { HoldfastError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { countEvents } from "../tail/log-end.ts";
import type { SeqRange } from "./read-session.ts";

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

/**
 * The events of Turns: from the beginning of the first one to that of the Turn behind the last one, or to the end that the
 * log has now. They are looked for, not read up to.
 * @throws UsageError where there is no such Turn; the damage where that may be why
 */
export async function rangeOfTurns(
  store: Pick<SessionPersistence, "readFrom">,
  id: string,
  { first, last }: Turns,
): Promise<SeqRange> {
  const finder = new TurnFinder(store, id);
  const from = await finder.first(first);
  const end = last === first ? from : await finder.first(last);
  if (from?.turn !== first || end?.turn !== last) {
    if (finder.damage !== undefined) throw finder.damage;
    const missing = from?.turn === first ? last : first;
    throw new UsageError(`The session ${JSON.stringify(id)} has no Turn ${missing}`, await finder.there());
  }
  const next = await finder.first(last + 1);
  const to = next === undefined ? await lastSeq(store, id) : next.seq - 1;
  return { from: from.seq, ...(to === undefined ? {} : { to }) };
}

/** Nothing where damage hides it: whoever reads on is told. */
async function lastSeq(store: Pick<SessionPersistence, "readFrom">, id: string): Promise<number | undefined> {
  try {
    return (await countEvents(store, id)) - 1;
  } catch (error) {
    if (error instanceof HoldfastError) return undefined;
    throw error;
  }
}

/** An event that tells of which Turn it is. */
interface Sign {
  readonly seq: number;
  readonly turn: number;
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
          const turn = turnOf(event);
          if (turn !== undefined) return { seq: event.seq, turn };
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
function turnOf(event: SessionEvent): number | undefined {
  if (!isStrict(event) || isEvent(event, "user/message")) return undefined;
  const isInPlace = event.surfaceOp === undefined || event.surfaceOp === "append";
  if (!isInPlace || !("turn" in event.data)) return undefined;
  const { turn } = event.data;
  return typeof turn === "number" ? turn : undefined;
}
