import type OpenAI from "openai";
import type { Stream } from "openai/streaming";
import type { Chunk } from "../../../session/events.ts";
import { type ModelRequest, type Provider, ProviderError } from "../../provider.ts";
import { ChunkAssembler } from "./chunks.ts";
import { badResponse, timedOut, toProviderError } from "./errors.ts";
import { checkOptions, type OpenAICompatibleOptions } from "./options.ts";
import { toChatRequest } from "./request.ts";
import { createTransport } from "./transport.ts";

export { type OpenAICompatibleOptions, ProviderOptionsError } from "./options.ts";

/**
 * The provider `openai-compatible`: Chat Completions with streaming, at any base URL.
 *
 * The client library is loaded by the first request, since it costs time and some 16 MB. Environment variables have no
 * say in what is sent.
 *
 * @throws ProviderOptionsError when no request could be made with these options.
 */
export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  checkOptions(options);
  return new OpenAICompatible(options);
}

interface Loaded {
  readonly sdk: typeof OpenAI;
  readonly client: OpenAI;
}

class OpenAICompatible implements Provider {
  readonly name = "openai-compatible";
  readonly #options: OpenAICompatibleOptions;
  #loaded: Promise<Loaded> | undefined;

  constructor(options: OpenAICompatibleOptions) {
    this.#options = options;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    signal.throwIfAborted();
    const { requestTimeoutMs } = this.#options;
    this.#loaded ??= load(this.#options);
    const { sdk, client } = await this.#loaded;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), requestTimeoutMs);
    try {
      const body = toChatRequest(request);
      yield* read(client, body, AbortSignal.any([signal, deadline.signal]));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (deadline.signal.aborted) throw timedOut(requestTimeoutMs);
      const clock = this.#options.clock ?? Date.now;
      throw toProviderError(error, { sdk, clock, mask: (text) => this.#mask(text) });
    } finally {
      clearTimeout(timer);
      // Lets go of a response that was not read to its end.
      deadline.abort();
    }
  }

  #mask(text: string): string {
    const { apiKey } = this.#options;
    return apiKey === undefined ? text : text.replaceAll(apiKey, "[API key]");
  }
}

async function* read(
  client: OpenAI,
  body: unknown,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  signal.throwIfAborted();
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
  for (const chunk of assembler.close()) {
    // The client library ends an aborted stream as if it were complete.
    signal.throwIfAborted();
    yield chunk;
  }
}

async function load(options: OpenAICompatibleOptions): Promise<Loaded> {
  const { OpenAI: sdk } = await import("openai");
  try {
    // Everything that the library would otherwise read from OPENAI_* variables is given here; the transport sets the
    // headers, the key among them.
    const client = new sdk({
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
    return { sdk, client };
  } catch {
    // The one variable that cannot be overridden: a malformed OPENAI_CUSTOM_HEADERS stops the constructor.
    throw new ProviderError("provider-rejected", "The client library for the provider could not be set up", {
      retryable: false,
      hint: "Unset the environment variable OPENAI_CUSTOM_HEADERS.",
    });
  }
}

function checkContentType(header: string | null): void {
  const type = header?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "" || type === "text/event-stream" || type === "text/plain") return;
  throw badResponse(`The provider answered with ${type.slice(0, 60)} instead of an event stream`, {
    retryable: false,
    hint: "Check the base URL: it should end where /chat/completions begins, often with /v1.",
  });
}
