import { LiveTranscript } from "../../../session/projections/index.ts";
import { LogDigest } from "../../../store/digest.ts";
import type { HoldfastError } from "../../../store/errors.ts";
import { grouped } from "../../counted.ts";
import { jsonText } from "../../json-text.ts";
import type { Ending, TextOutput } from "../../pager.ts";
import { Progress } from "../../progress.ts";
import { pagesIn, SessionFacts, shownEvent } from "./read-session.ts";
import { endOf, openStream, type Shown, untilDamage } from "./read-shown.ts";

/** How often it is told how far the reading is, in events. */
const TOLD = 20_000;

/**
 * One object; its shape is in docs/cli.md. It is written while the log is read, once, so that memory does not follow it: the
 * transcript entry by entry, and behind it what is known when all was read.
 */
export async function printJson(shown: Shown, output: TextOutput): Promise<Ending> {
  const { range } = shown;
  const stream = await openStream(shown);
  const facts = new SessionFacts(range?.from ?? 0);
  const digest = new LogDigest();
  const live = new LiveTranscript();
  await output.write(`${jsonText({ header: stream.header }).slice(0, -1)},"transcript":[`);
  await output.flush();
  let separator = "";
  const damage = await untilDamage(async () => {
    using progress = new Told();
    for await (const page of pagesIn(stream, range ?? { from: 0 })) {
      for (const decoded of page) {
        const { record } = decoded;
        const event = shownEvent(decoded);
        facts.take(decoded);
        digest.add(record);
        if (event === undefined) live.pass(record);
        const entry = event && live.fold(event);
        if (entry === undefined) continue;
        await output.write(separator + jsonText(entry));
        separator = ",";
      }
      progress.tell(facts.events);
    }
  });
  const torn = stream.torn();
  const openAnswer = live.openAnswer(facts.next);
  const rest = jsonText({
    events: facts.events,
    digest: digest.hex(),
    torn,
    unknownTypes: facts.unknownTypes,
    closers: range === undefined && damage === undefined ? facts.closers : [],
    ...(damage === undefined ? {} : { problem: problemOf(damage) }),
    usage: facts.usage,
    ...(range === undefined ? {} : { range }),
    ...(openAnswer === undefined ? {} : { openAnswer }),
  });
  await output.write(`],${rest.slice(1)}\n`);
  return await endOf(shown, facts, torn, damage);
}

/** Tells how far the reading is; nothing where the object itself goes to a terminal, which shows that. */
class Told implements Disposable {
  readonly #progress = process.stdout.isTTY === true ? undefined : new Progress();
  #told = 0;

  tell(events: number): void {
    if (events < this.#told + TOLD) return;
    this.#told = events;
    this.#progress?.show(`${grouped(events)} events read`);
  }

  [Symbol.dispose](): void {
    this.#progress?.clear();
  }
}

function problemOf({ code, message, place }: HoldfastError): object {
  return { code, reason: message, place };
}
