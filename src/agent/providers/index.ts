import type { Provider } from "../provider.ts";

/** What a provider that asks over the network is given. Times are in milliseconds. */
export interface ProviderConnection {
  readonly baseUrl: string;
  /** No key is sent when absent. */
  readonly apiKey?: string;
  /** Longest wait for the head of an answer. */
  readonly connectTimeoutMs: number;
  /** Longest silence in the middle of an answer. */
  readonly idleTimeoutMs: number;
  /** Longest time for one answer, from start to end. */
  readonly requestTimeoutMs: number;
}

/** How one provider is configured and made. Its module is loaded when it is asked for. */
export type ProviderKind =
  | {
      /** Its only model. */
      readonly model: string;
      readonly open: () => Promise<Provider>;
    }
  | {
      /** Base URL when none is given; one must be given when absent. */
      readonly baseUrl?: string;
      /** Variable that holds the API key unless another one is named. */
      readonly apiKeyEnv?: string;
      readonly connect: (connection: ProviderConnection) => Promise<Provider>;
    };

/** Every provider there is. Adding one takes a folder here and an entry in this table. */
export const PROVIDERS = {
  demo: {
    model: "demo",
    open: async () => (await import("./demo/index.ts")).createDemo(),
  },
  "openai-compatible": {
    connect: async (connection) =>
      (await import("./openai-compatible/index.ts")).createOpenAICompatible(connection),
  },
  anthropic: {
    baseUrl: "https://api.anthropic.com",
    apiKeyEnv: "ANTHROPIC_API_KEY",
    connect: async (connection) => (await import("./anthropic/index.ts")).createAnthropic(connection),
  },
} as const satisfies Readonly<Record<string, ProviderKind>>;

export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = Object.keys(PROVIDERS).filter((name): name is ProviderName =>
  Object.hasOwn(PROVIDERS, name),
);
