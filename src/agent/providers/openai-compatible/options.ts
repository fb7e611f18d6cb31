import { HoldfastError } from "../../../session/errors.ts";
import type { Fetch } from "./transport.ts";

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

/** @throws ProviderOptionsError */
export function checkOptions(options: OpenAICompatibleOptions): void {
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
