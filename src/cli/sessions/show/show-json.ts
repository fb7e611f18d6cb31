import { isPiece } from "../../../session/projections/cut-off.ts";
import { LiveTranscript, type TranscriptEntry } from "../../../session/projections/index.ts";
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
 * One object; its shape is in docs/cli.md. The log is read twice, so that memory does not follow it: what stands before the
 * transcript, which is last and written entry by entry, needs all of it.
 */
export async function printJson(shown: Shown, output: TextOutput): Promise<Ending> {
  const { range } = shown;
  const { facts, digest, torn, damage, openAnswer, header } = await measure(shown);
  const isWhole = range === undefined && damage === undefined;
  const head = jsonText({
    header,
    events: facts.events,
    digest,
    torn,
    unknownTypes: facts.unknownTypes,
    closers: isWhole ? facts.closers : [],
    ...(damage === undefined ? {} : { problem: problemOf(damage) }),
    usage: facts.usage,
    ...(range === undefined ? {} : { range }),
    ...(openAnswer === undefined ? {} : { openAnswer }),
  });
  await output.write(`${head.slice(0, -1)},"transcript":[`);
  let separator = "";
  for await (const entry of entries(shown, facts.next)) {
    await output.write(separator + jsonText(entry));
    separator = ",";
  }
  await output.write("]}\n");
  return await endOf(shown, facts, torn, damage);
}

function problemOf({ code, message, place }: HoldfastError): object {
  return { code, reason: message, place };
}

/** Reads all that is shown, for what is told of it as a whole. */
async function measure(shown: Shown) {
  const { range = { from: 0 } } = shown;
  const stream = await openStream(shown);
  const facts = new SessionFacts(range.from);
  const digest = new LogDigest();
  const live = new LiveTranscript();
  using progress = new Progress();
  let told = 0;
  const damage = await untilDamage(async () => {
    for await (const page of pagesIn(stream, range)) {
      for (const decoded of page) {
        const { record, event } = decoded;
        facts.take(decoded);
        digest.add(record);
        // Texts do not matter here.
        if (event === undefined || isPiece(record)) live.pass(record);
        else live.fold(event);
      }
      if (facts.events < told + TOLD) continue;
      told = facts.events;
      progress.show(`${grouped(told)} events read`);
    }
  });
  return {
    header: stream.header,
    facts,
    digest: digest.hex(),
    torn: stream.torn(),
    damage,
    openAnswer: live.openAnswer(facts.next),
  };
}

/** The transcript up to the event `end`, which is none of it: the log may have grown meanwhile, or is damaged there. */
async function* entries(shown: Shown, end: number): AsyncGenerator<TranscriptEntry> {
  const from = shown.range?.from ?? 0;
  if (end <= from) return;
  const live = new LiveTranscript();
  for await (const page of pagesIn(await openStream(shown), { from, to: end - 1 })) {
    for (const decoded of page) {
      const event = shownEvent(decoded);
      if (event === undefined) live.pass(decoded.record);
      else {
        const entry = live.fold(event);
        if (entry !== undefined) yield entry;
      }
    }
  }
}
