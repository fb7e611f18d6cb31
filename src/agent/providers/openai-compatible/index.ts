import type { Provider } from "../../provider.ts";
import { variableInTheWay } from "../http/errors.ts";
import { checkOptions, type Fetch, type HttpOptions } from "../http/options.ts";
import { HttpProvider, type Post, type WireFormat } from "../http/provider.ts";
import { ChatAnswerReader } from "./answer.ts";
import { PROVIDER_NAME } from "./replay.ts";
import { toChatRequest } from "./request.ts";

export { ProviderOptionsError } from "../http/options.ts";
export type OpenAICompatibleOptions = HttpOptions;

/**
 * The provider `openai-compatible`: Chat Completions with streaming, at any base URL (where `/chat/completions` lies, as
 * in `https://api.deepseek.com/v1`). The key is sent as a bearer token. Environment variables have no say in what is sent.
 *
 * @throws ProviderOptionsError when no request could be made with these options.
 */
export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  checkOptions(options, "https://api.deepseek.com/v1");
  return new HttpProvider(chatCompletions, options);
}

const chatCompletions: WireFormat = {
  name: PROVIDER_NAME,
  toBody: toChatRequest,
  headers: (apiKey) => ({
    accept: "text/event-stream",
    "content-type": "application/json",
    "user-agent": "holdfast",
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }),
  loadClient,
  readAnswer: (mask) => new ChatAnswerReader(mask),
};

async function loadClient(): Promise<Post> {
  const { OpenAI } = await import("openai");
  const open = (baseURL: string, fetch: Fetch) => {
    try {
      // Everything that the library would otherwise read from OPENAI_* variables is given here. The headers, the key
      // among them, and the times allowed are not its business.
      return new OpenAI({
        baseURL,
        apiKey: "unused",
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        logLevel: "off",
        maxRetries: 0,
        timeout: 0x7fff_ffff,
        fetch,
      });
    } catch {
      // The one variable that cannot be overridden stops the constructor when it is malformed.
      throw variableInTheWay("OPENAI_CUSTOM_HEADERS");
    }
  };
  return (body, { baseUrl, fetch, signal }) =>
    open(baseUrl, fetch).post("/chat/completions", { body, stream: true, signal }).asResponse();
}
