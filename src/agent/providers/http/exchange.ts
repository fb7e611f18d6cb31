import { waitFor } from "../../../session/wait-for.ts";
import { straightTo } from "../../loopback.ts";
import { ProviderError } from "../../provider.ts";
import { badResponse, fromStatus, notAStream, notSent, timedOut, unreachable } from "./errors.ts";
import { EventDecoder, type ServerEvent } from "./events.ts";
import { keyMask, secretOf } from "./mask.ts";
import type { Fetch, HttpOptions } from "./options.ts";

/** More than any answer of a model; a server that sends more is out of order. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** As much of an error answer is read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Some servers name no type, or a wrong one. */
const STREAM_TYPES: ReadonlySet<string> = new Set(["", "text/event-stream", "text/plain"]);

/** How long an answer that said it is complete may keep its connection open, in milliseconds. */
const LONGEST_FAREWELL_MS = 250;

/**
 * One HTTP request and its answer, behind a client library that is given {@link Exchange.fetch}.
 *
 * It sends exactly the headers that it was given, whatever the library or its environment variables add, and follows no
 * redirect, so that the key stays with the host it was meant for. It holds the answer to the times allowed and to
 * {@link MAX_RESPONSE_BYTES}.
 */
export class Exchange implements Disposable {
  /** Hides the API key in text that the provider wrote. */
  readonly mask: (text: string) => string;
  readonly #options: HttpOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #stop = new AbortController();
  readonly #farewell = Promise.withResolvers<undefined>();
  readonly #signal: AbortSignal;
  readonly #timers = new Set<Timer>();
  #isAnswered = false;
  #isOver = false;
  #failure: ProviderError | undefined;

  /** The time for the whole request begins here. */
  constructor(options: HttpOptions, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
    this.#options = options;
    this.#headers = headers;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    this.mask = keyMask(options.apiKey);
    const total = options.requestTimeoutMs;
    this.#after(total, () => this.#stop.abort(timedOut("total", total)));
  }

  /** Fires with the reason of the caller's signal, or with the error of a time that ran out. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** To be called once. Answers that are no event stream become errors, which {@link Exchange.explain} tells. */
  readonly fetch: Fetch = async (input, init) => {
    try {
      const response = await this.#head(input, init);
      if (!response.ok) throw await this.#failed(response);
      const type = mediaType(response);
      if (!STREAM_TYPES.has(type)) {
        const body = type.endsWith("json") ? await this.#beginning(response) : "";
        throw notAStream(type, body, this.mask);
      }
      this.#isAnswered = true;
      return response;
    } catch (error) {
      // The library wraps what it catches.
      this.#failure = error instanceof ProviderError ? error : unreachable(error);
      throw this.#failure;
    }
  };

  /** The events of an answer, as many at once as a packet brings. @throws ProviderError or the signal's reason */
  async *events(response: Response): AsyncGenerator<ServerEvent[], void, undefined> {
    const decoder = new EventDecoder();
    for await (const bytes of this.#bytes(response, MAX_RESPONSE_BYTES)) {
      const events = decoder.decode(bytes);
      if (events.length > 0) yield this.#hideKey(events);
    }
    yield this.#hideKey(decoder.end());
  }

  /**
   * The answer says that it is complete. What follows at once is still read; a connection that just stays open, or that
   * breaks now, is no failure.
   */
  complete(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#after(LONGEST_FAREWELL_MS, () => this.#farewell.resolve(undefined));
  }

  /** What to throw for an error that the exchange ended with. No text of the original gets out unmasked. */
  explain(error: unknown): unknown {
    if (this.#signal.aborted) return this.#signal.reason;
    const unknown = () =>
      this.#isAnswered ? badResponse("The provider's answer could not be read") : notSent();
    const known = error instanceof ProviderError ? error : (this.#failure ?? unknown());
    // A short key may be a word of ours.
    if (secretOf(this.#options.apiKey) === undefined) return known;
    const message = this.mask(known.message);
    if (message === known.message) return known;
    const { code, hint, retryable, status, retryAfterMs, requestId } = known;
    return new ProviderError(code, message, {
      hint,
      retryable,
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(requestId === undefined ? {} : { requestId }),
    });
  }

  /** Stops all timers and lets go of an answer that was not read to its end. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#stop.abort();
  }

  async #head(input: string | URL | Request, init: RequestInit | undefined): Promise<Response> {
    const { connectTimeoutMs, fetch: send = fetch } = this.#options;
    const timer =
      connectTimeoutMs === undefined
        ? undefined
        : this.#after(connectTimeoutMs, () => this.#stop.abort(timedOut("connect", connectTimeoutMs)));
    try {
      const { method, body } = init ?? {};
      const sent = send(input, {
        ...(method === undefined ? {} : { method }),
        ...(body == null ? {} : { body }),
        headers: { ...this.#headers },
        signal: this.#signal,
        ...straightTo(new URL(this.#options.baseUrl)),
      });
      return await waitFor(sent, this.#signal);
    } finally {
      this.#cancel(timer);
    }
  }

  async #failed(response: Response): Promise<ProviderError> {
    const text = await this.#beginning(response);
    const { status, headers } = response;
    return fromStatus({ status, headers, text }, this.mask, (this.#options.clock ?? Date.now)());
  }

  /** What an answer says that is no stream, as far as it can be read. */
  async #beginning(response: Response): Promise<string> {
    const parts: Uint8Array[] = [];
    let received = 0;
    try {
      for await (const bytes of this.#bytes(response, Number.POSITIVE_INFINITY)) {
        parts.push(bytes);
        received += bytes.byteLength;
        if (received >= MAX_ERROR_BYTES) break;
      }
    } catch (error) {
      // The status says enough when the rest gets lost.
      if (this.#signal.aborted) throw error;
    }
    return new TextDecoder().decode(Buffer.concat(parts).subarray(0, MAX_ERROR_BYTES));
  }

  async *#bytes(response: Response, max: number): AsyncGenerator<Uint8Array, void, undefined> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    let received = 0;
    for (;;) {
      const bytes = await this.#read(reader);
      if (bytes === undefined) return;
      received += bytes.byteLength;
      if (received > max) throw badResponse(`The provider's answer is larger than ${max} bytes`);
      yield bytes;
    }
  }

  /** The next bytes; undefined at the end. Only the wait for them counts as the provider's silence. */
  async #read(reader: BodyReader): Promise<Uint8Array | undefined> {
    const { idleTimeoutMs } = this.#options;
    const timer =
      idleTimeoutMs === undefined
        ? undefined
        : this.#after(idleTimeoutMs, () => this.#stop.abort(timedOut("idle", idleTimeoutMs)));
    try {
      const next = reader.read();
      const first = this.#isOver ? Promise.race([next, this.#farewell.promise]) : next;
      return (await waitFor(first, this.#signal))?.value;
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      if (this.#isOver) return undefined;
      throw unreachable(error);
    } finally {
      this.#cancel(timer);
    }
  }

  #hideKey(events: ServerEvent[]): ServerEvent[] {
    const secret = secretOf(this.#options.apiKey);
    if (secret === undefined) return events;
    return events.map((event) => {
      const data = unescaped(event.data);
      return data.includes(secret) ? { ...event, data: this.mask(data) } : event;
    });
  }

  #after(ms: number, action: () => void): Timer {
    const timer = setTimeout(action, ms);
    this.#timers.add(timer);
    return timer;
  }

  #cancel(timer: Timer | undefined): void {
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

/** JSON without the escapes that it need not have: behind them a key would pass unseen. */
function unescaped(data: string): string {
  if (!/\\(?:u00[2-7]|\/)/i.test(data)) return data;
  // As text, since no JSON is nested too deep for that. Each escape is taken whole: `\\u0041` is none.
  return data.replace(/\\(?:u00([2-7][0-9a-f])|.)/gi, (whole: string, code: string | undefined) => {
    if (code === undefined) return whole === "\\/" ? "/" : whole;
    return JSON.stringify(String.fromCharCode(Number.parseInt(code, 16))).slice(1, -1);
  });
}

function mediaType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

type Timer = ReturnType<typeof setTimeout>;

interface BodyReader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
}
