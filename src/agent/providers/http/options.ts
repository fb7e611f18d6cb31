import { HoldfastError } from "../../../session/errors.ts";

/** The part of `fetch` that a provider uses. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What a provider that asks over HTTP is given. Times are whole milliseconds, above 0. */
export interface HttpOptions {
  /** The address that the provider's path is put behind; http or https, without credentials. */
  readonly baseUrl: string;
  /** No key is sent when absent. */
  readonly apiKey?: string;
  /** Longest wait for the head of an answer; `requestTimeoutMs` when absent. */
  readonly connectTimeoutMs?: number;
  /** Longest silence in the middle of an answer; `requestTimeoutMs` when absent. */
  readonly idleTimeoutMs?: number;
  /** Longest time for one answer, from start to its last byte. */
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
 * @param example a base URL as the provider's users know it
 * @throws ProviderOptionsError
 */
export function checkOptions(options: HttpOptions, example: string): void {
  const url = URL.parse(options.baseUrl);
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === null || !isHttp || url.username !== "" || url.password !== "") {
    throw new ProviderOptionsError(
      "The base URL of the provider cannot be used",
      `Give an http or https address without user and password, as in ${example}.`,
    );
  }
  if (options.apiKey !== undefined && !/^[\x21-\x7e]+$/.test(options.apiKey)) {
    throw new ProviderOptionsError(
      "The API key is empty, or holds blanks or characters that no header can carry",
      "Give the key alone, without quotes, spaces or line breaks.",
    );
  }
  const { requestTimeoutMs: total, connectTimeoutMs = total, idleTimeoutMs = total } = options;
  for (const ms of [total, connectTimeoutMs, idleTimeoutMs]) {
    if (Number.isSafeInteger(ms) && ms > 0 && ms <= 0x7fff_ffff) continue;
    throw new ProviderOptionsError(
      "The time allowed for a provider request is not usable",
      "Give whole milliseconds from 1 to 2147483647.",
    );
  }
}
