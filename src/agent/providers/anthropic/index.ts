import type { Provider } from "../../provider.ts";
import { variableInTheWay } from "../http/errors.ts";
import { checkOptions, type Fetch, type HttpOptions } from "../http/options.ts";
import { HttpProvider, type Post, type WireFormat } from "../http/provider.ts";
import { MessageAssembler } from "./chunks.ts";
import { PROVIDER_NAME } from "./replay.ts";
import { DEFAULT_MAX_TOKENS, toMessagesRequest } from "./request.ts";

export { ProviderOptionsError } from "../http/options.ts";
export type AnthropicOptions = HttpOptions;

/**
 * The provider `anthropic`: the Messages API with streaming, at a base URL that `/v1/messages` lies below, as in
 * `https://api.anthropic.com`. Environment variables have no say in what is sent.
 *
 * @throws ProviderOptionsError when no request could be made with these options.
 */
export function createAnthropic(options: AnthropicOptions): Provider {
  checkOptions(options, "https://api.anthropic.com");
  return new HttpProvider(messagesApi, options);
}

const messagesApi: WireFormat = {
  name: PROVIDER_NAME,
  defaults: { maxTokens: DEFAULT_MAX_TOKENS },
  toBody: toMessagesRequest,
  headers: (apiKey, body) => ({
    accept: "text/event-stream",
    "anthropic-version": versionFor(body),
    "content-type": "application/json",
    "user-agent": "holdfast",
    ...(apiKey === undefined ? {} : { "x-api-key": apiKey }),
  }),
  loadClient,
  readAnswer: (mask) => new MessageAssembler(mask),
};

/** The current version of the API refuses these members; the one before takes them, where the model does. */
const SAMPLING = ["temperature", "top_p", "top_k"];

function versionFor(body: object): string {
  return SAMPLING.some((name) => Object.hasOwn(body, name)) ? "2023-06-01" : "2026-10-21";
}

async function loadClient(): Promise<Post> {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  const open = (baseURL: string, fetch: Fetch) => {
    try {
      // Everything that the library would otherwise read from ANTHROPIC_* variables is given here. The headers, the key
      // among them, and the times allowed are not its business.
      return new Anthropic({
        baseURL,
        apiKey: "unused",
        authToken: null,
        webhookKey: null,
        defaultHeaders: new Headers(),
        openTelemetry: false,
        logLevel: "off",
        maxRetries: 0,
        timeout: 0x7fff_ffff,
        fetch,
      });
    } catch {
      // The one variable that cannot be overridden stops the constructor when it is malformed.
      throw variableInTheWay("ANTHROPIC_CUSTOM_HEADERS");
    }
  };
  return (body, { baseUrl, fetch, signal }) =>
    open(baseUrl, fetch).post("/v1/messages", { body, stream: true, signal }).asResponse();
}
