import type { SessionEvent } from "../src/session/events.ts";
import { generateSession } from "./generator.ts";

/** A generated session of `events` events in batches of 1,000. */
export function* thousands(events: number): Generator<SessionEvent[]> {
  let gathered: SessionEvent[] = [];
  for (const batch of generateSession({ seed: 7, events })) {
    for (const event of batch) {
      gathered.push(event);
      if (gathered.length < 1_000) continue;
      yield gathered;
      gathered = [];
    }
  }
  if (gathered.length > 0) yield gathered;
}
