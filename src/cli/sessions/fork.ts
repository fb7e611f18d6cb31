import { storeFork } from "../../agent/forking.ts";
import { storeAndId } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import { isEvent } from "../../session/events.ts";
import { AlreadyExistsError } from "../../store/errors.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import { EXIT } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { openIdle, storedId } from "./stored-id.ts";

const OTHER_ID = "Name another id with --session-id, or leave it out for a new one.";
const overHttp = (id: string) =>
  `or let it fork the session if it is a Host that serves it: POST /api/v1/sessions/${encodeURIComponent(id)}/forks`;

export interface ForkFlags {
  /** Seq of a `turn/end`, as it was given. */
  readonly at?: string;
  /** Number of a Turn, as it was given. */
  readonly turn?: string;
  /** Id of the new session; one is made when absent. */
  readonly newId?: string;
  readonly json: boolean;
}

/** `holdfast sessions fork`: a new session that begins with a copy of another one, up to the end of a Turn. */
export function fork(
  raw: RawOptions,
  argument: string | undefined,
  session: string,
  flags: ForkFlags,
): Promise<number> {
  const { name, id: given } = storeAndId(raw, session, argument);
  const at = parseNumber("--at", flags.at);
  const turn = parseNumber("--turn", flags.turn);
  if (flags.newId === "") throw new UsageError("The id of the new session is empty");
  const newSessionId = flags.newId ?? crypto.randomUUID();
  return printingOn(async (output) => {
    const id = await storedId(name, given, overHttp(given));
    await using store = await openIdle(name, overHttp(id));
    using progress = new Progress();
    progress.show(`reading ${id}`);
    const boundary = turn === undefined ? at : await endOfTurn(store, id, turn);
    const place = boundary === undefined ? {} : { boundary };
    const options = { sessionId: id, newSessionId, ...place };
    const { header, boundary: end } = await storeFork(store, options, Date.now()).catch((error: unknown) => {
      throw error instanceof AlreadyExistsError ? new AlreadyExistsError(newSessionId, OTHER_ID) : error;
    });
    progress.clear();
    const events = header.seedLength + 1;
    const report = { id: header.id, parent: id, at: end, events };
    const text = `forked ${id} as ${header.id}: ${events} events, up to the end of a Turn at seq ${end}`;
    await output.write(`${flags.json ? jsonText(report) : printableLine(text)}\n`);
    return EXIT.ok;
  });
}

/** Seq of the event that ends a Turn. @throws UsageError where that Turn never ended, or is not there */
async function endOfTurn(store: SessionPersistence, id: string, turn: number): Promise<number> {
  const { pages } = await store.stream(id);
  for await (const page of pages) {
    for (const { event, record } of page) {
      if (event !== undefined && isEvent(event, "turn/end") && event.data.turn === turn) return record.seq;
    }
  }
  throw new UsageError(
    `The session ${JSON.stringify(id)} has no closed Turn ${turn}`,
    "`holdfast sessions show` tells the Turns that there are.",
  );
}

function parseNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError(`${flag} cannot be ${JSON.stringify(text)}`, "It must be a whole number.");
}
