import type { Chunk } from "../../../session/events.ts";
import type { CallSettings, ModelRequest, Provider } from "../../provider.ts";
import type { ServerEvent } from "./events.ts";
import { Exchange } from "./exchange.ts";
import { DeltaGuard } from "./guard.ts";
import { secretOf } from "./mask.ts";
import type { Fetch, HttpOptions } from "./options.ts";

/** What makes one HTTP provider different from another. */
export interface WireFormat {
  readonly name: string;
  readonly defaults?: CallSettings;
  /** The body of a request. Equal requests give the same bytes. */
  toBody(request: ModelRequest): object;
  /** All headers of a request, in lower case. */
  headers(apiKey: string | undefined, body: object): Readonly<Record<string, string>>;
  /** Loads the client library; called with the first request. */
  loadClient(): Promise<Post>;
  /** Reads one answer. `mask` hides the API key in words of the provider that go into errors. */
  readAnswer(mask: (text: string) => string): AnswerReader;
}

/** Sends a body with the client library, through this `fetch`, and gives the raw answer back. */
export type Post = (
  body: object,
  connection: { readonly baseUrl: string; readonly fetch: Fetch; readonly signal: AbortSignal },
) => Promise<Response>;

/** Turns the events of one answer into chunks of the format. */
export interface AnswerReader {
  /** Whether the provider said that nothing follows. */
  readonly isOver: boolean;
  /** @throws ProviderError for an error that the provider tells, and for what breaks its protocol */
  add(event: ServerEvent): readonly Chunk[];
  /** The chunks at the end of the stream. @throws ProviderError when the answer is not complete */
  close(): readonly Chunk[];
}

/**
 * A provider that is asked over HTTP and answers with server-sent events.
 *
 * The client library is loaded by the first request, since it costs time and memory.
 */
export class HttpProvider implements Provider {
  readonly name: string;
  readonly defaults?: CallSettings;
  readonly #format: WireFormat;
  readonly #options: HttpOptions;
  #post: Promise<Post> | undefined;

  constructor(format: WireFormat, options: HttpOptions) {
    this.name = format.name;
    if (format.defaults !== undefined) this.defaults = format.defaults;
    this.#format = format;
    this.#options = options;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    signal.throwIfAborted();
    const { apiKey, baseUrl } = this.#options;
    this.#post ??= this.#format.loadClient();
    const post = await this.#post;
    const body = this.#format.toBody(request);
    using exchange = new Exchange(this.#options, this.#format.headers(apiKey, body), signal);
    try {
      exchange.signal.throwIfAborted();
      const response = await post(body, { baseUrl, fetch: exchange.fetch, signal: exchange.signal });
      const answer = this.#format.readAnswer(exchange.mask);
      const guard = new DeltaGuard(secretOf(apiKey));
      for await (const chunks of read(exchange, response, answer)) {
        for (const chunk of chunks) {
          for (const safe of guard.add(chunk)) {
            exchange.signal.throwIfAborted();
            yield safe;
          }
        }
      }
    } catch (error) {
      throw exchange.explain(error);
    }
  }
}

async function* read(
  exchange: Exchange,
  response: Response,
  answer: AnswerReader,
): AsyncGenerator<readonly Chunk[], void, undefined> {
  for await (const events of exchange.events(response)) {
    for (const event of events) yield answer.add(event);
    if (answer.isOver) exchange.complete();
  }
  yield answer.close();
}
