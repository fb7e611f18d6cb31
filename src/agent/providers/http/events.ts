import { createParser } from "eventsource-parser";
import { badResponse } from "./errors.ts";

/** One server-sent event. */
export interface ServerEvent {
  /** Its `event` field; absent when it has none. */
  readonly event?: string;
  readonly data: string;
  /** Whether the stream ended before the blank line that completes the event. */
  readonly isCut: boolean;
}

/**
 * Reads server-sent events from bytes in any packets: any line ends, comments, a byte order mark. An event that the end
 * of the stream cuts off is read as well: some servers leave its last line end out.
 */
export class EventDecoder {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #events: ServerEvent[] = [];
  #isCut = false;
  readonly #parser = createParser({
    onEvent: ({ event, data }) => {
      if (data !== "")
        this.#events.push({ ...(event === undefined ? {} : { event }), data, isCut: this.#isCut });
    },
  });

  /** The events that these bytes complete. */
  decode(bytes: Uint8Array): ServerEvent[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#take();
  }

  /** What is left at the end of the stream. */
  end(): ServerEvent[] {
    const rest = this.#decoder.decode();
    this.#isCut = true;
    this.#parser.feed(`${rest}\n\n`);
    return this.#take();
  }

  #take(): ServerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** The data of an event. @throws ProviderError when it is no JSON */
export function parseData({ data, isCut }: ServerEvent): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw badResponse(
      isCut
        ? "The provider's answer ended in the middle of a chunk"
        : "The provider sent a chunk that is not JSON",
    );
  }
}
