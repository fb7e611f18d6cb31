import { storeAndId } from "../../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../../host/usage.ts";
import { recordTexts } from "../../../session/records.ts";
import { openStoreReadOnly } from "../../../store/open-store.ts";
import { EXIT, reportError } from "../../exit-codes.ts";
import { LocalTimes } from "../../local-time.ts";
import { type Ending, paging, type TextOutput } from "../../pager.ts";
import { resolveSessionId } from "../session-id.ts";
import { pagesIn, type SeqRange, SessionFacts } from "./read-session.ts";
import { endOf, nothingShown, openStream, type Shown, TORN, untilDamage } from "./read-shown.ts";
import { factsAtEnd, type HeadFacts, headText } from "./session-head.ts";
import { SessionView } from "./session-view.ts";
import { printJson } from "./show-json.ts";
import { outputStyle, TranscriptStyle } from "./transcript-style.ts";
import { parseTurns, rangeOfTurns } from "./turn-range.ts";

/** So much of a log is read before its head is shown, in UTF-16 units: of most sessions it is all. */
const READ_AHEAD = 4 * 1024 * 1024;

export interface ShowOptions {
  readonly form: "text" | "json" | "events";
  /** Whether nothing is shortened. */
  readonly full: boolean;
  /** The first and the last seq; as they were given. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** A Turn, or a first and a last one, in place of seqs; as it was given. */
  readonly turn: string | undefined;
  /** Whether a pager may be used. */
  readonly pager: boolean;
}

/** `holdfast sessions show`: what was said, one JSON object, or every event as it is stored. */
export function show(
  raw: RawOptions,
  argument: string | undefined,
  session: string,
  options: ShowOptions,
): Promise<number> {
  const { name, id: given } = storeAndId(raw, session, argument);
  const seqs = rangeOf(options);
  const turns = options.turn === undefined ? undefined : parseTurns(options.turn);
  const command = async (output: TextOutput): Promise<Ending> => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const id = await resolveSessionId(store, given, name);
    const shown = { store, id, range: turns === undefined ? seqs : await rangeOfTurns(store, id, turns) };
    switch (options.form) {
      case "events":
        return await printEvents(shown, output);
      case "json":
        return await printJson(shown, output);
      case "text":
        return await printText(shown, options, output);
    }
  };
  return paging(options.pager && options.form === "text", command);
}

function rangeOf({ from, to }: ShowOptions): SeqRange | undefined {
  if (from === undefined && to === undefined) return undefined;
  const first = from === undefined ? 0 : seqOf("--from", from);
  if (to === undefined) return { from: first };
  const last = seqOf("--to", to);
  if (last >= first) return { from: first, to: last };
  throw new UsageError(
    `--to ${last} stands before --from ${first}`,
    "Both are shown, and what lies between.",
  );
}

function seqOf(flag: string, text: string): number {
  const seq = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new UsageError(
    `${flag} cannot be ${JSON.stringify(text)}: it must be the seq of an event`,
    "Seqs are whole numbers from 0; `--events` shows them.",
  );
}

/** One event a line, in the bytes that are stored. */
async function printEvents(shown: Shown, output: TextOutput): Promise<Ending> {
  const stream = await openStream(shown);
  let events = 0;
  const damage = await untilDamage(async () => {
    for await (const page of pagesIn(stream, shown.range ?? { from: 0 })) {
      for (const { record } of page) {
        events += record.count;
        for (const text of recordTexts(record)) await output.write(`${text}\n`);
      }
    }
  });
  const notes = [
    ...(damage === undefined ? await nothingShown(shown, events) : []),
    ...(stream.torn() ? [TORN] : []),
  ];
  return () => {
    if (damage !== undefined) return reportError(damage);
    for (const note of notes) process.stderr.write(`holdfast: ${note}\n`);
    return EXIT.ok;
  };
}

/** Shows what is read while it is read; of all but very long sessions the head is shown when all is known. */
async function printText(shown: Shown, { full }: ShowOptions, output: TextOutput): Promise<Ending> {
  const { store, id, range } = shown;
  const stream = await openStream(shown);
  const style = new TranscriptStyle(outputStyle(process.env, process.stdout));
  const times = new LocalTimes();
  // Before any other: it stands above them.
  const created = times.text(stream.header.createdAt);
  const view = new SessionView(style, times, full);
  const facts = new SessionFacts(range?.from ?? 0);
  let held: string[] | undefined = [];
  let length = 0;
  const begin = async (known: HeadFacts) => {
    await output.write(headText(stream.header, { ...view.known(known), created }, range, style));
    for (const text of held ?? []) await output.write(text);
    held = undefined;
    await output.flush();
  };
  // Of a part there is nothing to wait for.
  if (range !== undefined) await begin({});
  const damage = await untilDamage(async () => {
    for await (const page of pagesIn(stream, range ?? { from: 0 })) {
      for (const decoded of page) {
        facts.take(decoded);
        const text = view.take(decoded);
        length += decoded.record.text.length;
        if (held === undefined) await output.write(text);
        else if (text !== "") held.push(text);
      }
      if (held !== undefined && length >= READ_AHEAD) await begin(await factsAtEnd(store, id));
    }
  });
  const isWhole = range === undefined && damage === undefined;
  if (held !== undefined)
    await begin(isWhole ? { events: facts.events, isOpen: facts.closers.length > 0 } : {});
  await output.write(view.end(facts.events, facts.next, !isWhole));
  return await endOf(shown, facts, stream.torn(), damage);
}
