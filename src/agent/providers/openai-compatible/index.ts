import type OpenAI from "openai";
import type { Stream } from "openai/streaming";
import type { Chunk } from "../../../session/events.ts";
import { HoldfastError } from "../../../session/errors.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { ChunkAssembler } from "./chunks.ts";
import { badResponse, timedOut, toProviderError } from "./errors.ts";
import { toChatRequest } from "./request.ts";
import { createTransport, type Fetch } from "./transport.ts";

export interface OpenAICompatibleOptions {
  /** Where `/chat/completions` lies, as in `https://api.deepseek.com/v1`; http or https, without credentials. */
  readonly baseUrl: string;
  /** Sent as a bearer token. Without one, no Authorization header is sent. */
  readonly apiKey?: string;
  /** The longest that one request may take, from start to the last byte of its answer. Milliseconds, above 0. */
  readonly requestTimeoutMs: number;
  readonly fetch?: Fetch;
  /** Epoch milliseconds, to read a Retry-After that is a date. `Date.now` unless given. */
  readonly clock?: () => number;
}

/** Options that no request could be made with. The message never holds the key. */
export class ProviderOptionsError extends HoldfastError {
  readonly code = "provider-options";

  constructor(message: string, hint: string) {
    super(message, { hint });
  }
}

/**
 * The provider `openai-compatible`: Chat Completions with streaming, at any base URL.
 *
 * The client library is loaded by the first request, since it costs some 100 ms and 16 MB. Environment variables have no
 * say in what is sent.
 *
 * @throws ProviderOptionsError when no request could be made with these options.
 */
export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  checkOptions(options);
  return new OpenAICompatible(options);
}

class OpenAICompatible implements Provider {
  readonly name = "openai-compatible";
  readonly #options: OpenAICompatibleOptions;
  #client: Promise<OpenAI> | undefined;

  constructor(options: OpenAICompatibleOptions) {
    this.#options = options;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    signal.throwIfAborted();
    const { requestTimeoutMs } = this.#options;
    const client = await this.#load();
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), requestTimeoutMs);
    try {
      const body = toChatRequest(request);
      yield* this.#read(client, body, AbortSignal.any([signal, deadline.signal]));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (deadline.signal.aborted) throw timedOut(requestTimeoutMs);
      throw toProviderError(error, {
        sdk: (await import("openai")).OpenAI,
        mask: (text) => this.#mask(text),
        clock: this.#options.clock ?? Date.now,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async *#read(client: OpenAI, body: unknown, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    const { data, response } = await client
      .post<Stream<unknown>>("/chat/completions", { body, stream: true, signal })
      .withResponse();
    checkContentType(response.headers.get("content-type"));
    const assembler = new ChunkAssembler();
    for await (const item of data) {
      for (const chunk of assembler.add(item)) {
        signal.throwIfAborted();
        yield chunk;
      }
    }
    // The client library ends an aborted stream as if it were complete.
    signal.throwIfAborted();
    yield* assembler.close();
  }

  #load(): Promise<OpenAI> {
    this.#client ??= createClient(this.#options);
    return this.#client;
  }

  #mask(text: string): string {
    const { apiKey } = this.#options;
    return apiKey === undefined ? text : text.replaceAll(apiKey, "[API key]");
  }
}

async function createClient(options: OpenAICompatibleOptions): Promise<OpenAI> {
  const { OpenAI } = await import("openai");
  // Everything that the library would otherwise read from OPENAI_* variables is given here; the transport sets the
  // headers, the key among them.
  return new OpenAI({
    baseURL: options.baseUrl,
    apiKey: "unused",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: "off",
    maxRetries: 0,
    timeout: options.requestTimeoutMs,
    fetch: createTransport(options.fetch ?? fetch, options.apiKey),
  });
}

function checkContentType(header: string | null): void {
  const type = header?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "" || type === "text/event-stream" || type === "text/plain") return;
  throw badResponse(`The provider answered with ${type.slice(0, 60)} instead of an event stream`, {
    retryable: false,
    hint: "Check the base URL: it should end where /chat/completions begins, often with /v1.",
  });
}

function checkOptions(options: OpenAICompatibleOptions): void {
  const url = URL.parse(options.baseUrl);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === null || !isHttp || url.username !== "" || url.password !== "") {
    throw new ProviderOptionsError(
      "The base URL of the provider cannot be used",
      "Give an http or https address without user and password, as in https://api.deepseek.com/v1.",
    );
  }
  if (options.apiKey !== undefined && !/^[\x21-\x7e]+$/.test(options.apiKey)) {
    throw new ProviderOptionsError(
      "The API key is empty, or holds blanks or characters that no header can carry",
      "Give the key alone, without quotes, spaces or line breaks.",
    );
  }
  const timeout = options.requestTimeoutMs;
  if (!Number.isSafeInteger(timeout) || timeout <= 0 || timeout > 0x7fff_ffff) {
    throw new ProviderOptionsError(
      "The time allowed for a provider request is not usable",
      "Give whole milliseconds from 1 to 2147483647.",
    );
  }
}
