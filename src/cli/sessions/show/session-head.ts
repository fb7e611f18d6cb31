import type { SessionHeader } from "../../../session/header.ts";
import { givenTitle } from "../../../session/projections/outline.ts";
import { HoldfastError } from "../../../store/errors.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { counted, grouped } from "../../counted.ts";
import { countEvents } from "../tail/log-end.ts";
import type { SeqRange } from "./read-session.ts";
import type { TranscriptStyle } from "./transcript-style.ts";

/** Events before the end of a long log that are looked at for a title, and how many at once: each may be large. */
const LOOKED_AT = 64;
const BLOCK = 8;

/** What the head of a transcript tells beside the header. */
export interface HeadFacts {
  readonly title?: string;
  /** The model that was asked, with its provider. */
  readonly model?: string;
  /** Absent where nobody knows. */
  readonly events?: number;
  readonly isOpen?: boolean;
}

/** The lines above a transcript. `created` is when the session was, as it is to be told. */
export function headText(
  { id, cwd, parentSession, seedLength, agentPreset }: SessionHeader,
  { created, title, model, events, isOpen }: HeadFacts & { readonly created: string },
  range: SeqRange | undefined,
  style: TranscriptStyle,
): string {
  const seed = seedLength === undefined ? "" : `, with its first ${counted(seedLength, "event")}`;
  const { from = 0, to } = range ?? {};
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ["title", title],
    ["created", created],
    ["folder", cwd],
    ["forked", parentSession === undefined ? undefined : `from ${parentSession}${seed}`],
    ["preset", agentPreset],
    ["model", model],
    ["events", events === undefined ? undefined : grouped(events)],
    ["shown", range && `events from ${from}${to === undefined ? " on" : ` to ${to}`}`],
    [
      "state",
      isOpen === true ? "the last Turn is open: it is running now, or it was interrupted" : undefined,
    ],
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.flatMap(([label, value]) =>
    value === undefined ? [] : [style.own(`  ${label.padEnd(width)}  ${value}`)],
  );
  return style.own(`Session ${id}`, "bold") + lines.join("");
}

/** What the end of a log tells, without a reading of what precedes it; little where it cannot be found. */
export async function factsAtEnd(store: SessionPersistence, id: string): Promise<HeadFacts> {
  try {
    const events = await countEvents(store, id);
    for (let end = events; end > Math.max(0, events - LOOKED_AT); end -= BLOCK) {
      const from = Math.max(0, end - BLOCK);
      const block = await store.readFrom(id, from, { limit: end - from });
      const event = block.findLast(({ type }) => type === "session/title");
      const title = event && givenTitle(event);
      if (title !== undefined) return { events, title };
    }
    return { events };
  } catch (error) {
    if (error instanceof HoldfastError) return {};
    throw error;
  }
}
