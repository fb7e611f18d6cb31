import type { LogModel } from "./log-model.ts";
import { need } from "./need.ts";
import type { FreshRead, Shown, StoredViews } from "./stored-views.ts";

/** What a Host had for a transcript when its log had `nextSeq` events; the text between the brackets of the list. */
export interface SeenTranscript {
  readonly nextSeq: number;
  readonly text: string;
}

/** Holds every view of a stored session against the log that was seen, and against each other. @throws Error */
export function checkViews(
  { fresh, lines, shown }: StoredViews,
  texts: readonly string[],
  model: LogModel,
  transcripts: readonly SeenTranscript[],
): void {
  need(sameTexts(fresh.texts, texts), "the library reads other events");
  if (lines !== undefined) {
    need(lines === texts.map((text) => `${text}\n`).join(""), "show --events has other events");
  }
  needSame(fresh.closers, model.closers(), "what the library would close the Turn with");
  if (fresh.closers.length === 0) needSame(tokensOf(fresh.usage), model.usage, "what the library counts");
  for (const { nextSeq, text } of transcripts) {
    need(
      text === entriesBefore(fresh, nextSeq).join(","),
      `the transcript of a Host with ${nextSeq} events differs`,
    );
  }
  if (shown !== undefined) checkShown(shown, fresh, texts, model);
}

function checkShown(shown: Shown, fresh: FreshRead, texts: readonly string[], model: LogModel): void {
  need(shown.problem === undefined, `show --json finds ${JSON.stringify(shown.problem)}`);
  needSame(shown.events, texts.length, "the number of events of show --json");
  const digest = new Bun.CryptoHasher("sha256").update(texts.join("\n")).digest("hex");
  needSame(shown.digest, digest, "the digest of show --json");
  needSame(shown.unknownTypes, [], "the unknown types of show --json");
  needSame(shown.torn, fresh.torn, "whether show --json and the library find a torn tail");
  needSame(shown.closers, model.closers(), "what show --json would close the Turn with");
  needSame(tokensOf(shown.usage), model.usage, "what show --json counts");
  needSame(shown.header, fresh.header, "the header of show --json");
  const entries = entriesBefore(fresh, texts.length).map((text): unknown => JSON.parse(text));
  needSame(shown.transcript, entries, "the transcript of show --json");
}

/** Entries of what was stored when the log had `end` events. */
function entriesBefore({ transcript }: FreshRead, end: number): string[] {
  return transcript.filter(({ seq }) => seq < end).map(({ text }) => text);
}

function tokensOf({ inputTokens, outputTokens }: FreshRead["usage"]): FreshRead["usage"] {
  return { inputTokens, outputTokens };
}

function sameTexts(found: readonly string[], expected: readonly string[]): boolean {
  return found.length === expected.length && found.every((text, k) => text === expected[k]);
}

function needSame(found: unknown, expected: unknown, what: string): void {
  if (Bun.deepEquals(found, expected)) return;
  throw new Error(`${what} differs: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}
