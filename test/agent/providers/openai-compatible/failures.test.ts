import { describe, expect, test } from "bun:test";
import { type ModelRequest, ProviderError } from "../../../../src/agent/provider.ts";
import {
  createOpenAICompatible,
  type OpenAICompatibleOptions,
  ProviderOptionsError,
} from "../../../../src/agent/providers/openai-compatible/index.ts";
import {
  delta,
  ProviderServer,
  partsReply,
  type Reply,
  sseReply,
  statusReply,
} from "../../../fixtures/provider-server.ts";

// What is the same for every provider is tested in ../wire/; here is what only Chat Completions servers say.

const KEY = "sk-secret-0123456789abcdef";

const request: ModelRequest = {
  config: { provider: "openai-compatible", model: "m" },
  tools: [],
  messages: [{ id: "u", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } }],
};

async function failWith(
  options: Partial<OpenAICompatibleOptions> & { baseUrl: string },
): Promise<ProviderError> {
  const provider = createOpenAICompatible({ apiKey: KEY, requestTimeoutMs: 30_000, ...options });
  try {
    for await (const chunk of provider.stream(request, new AbortController().signal)) void chunk;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    expect(`${error.explain()} ${error.stack} ${Bun.inspect(error)}`).not.toContain(KEY);
    expect(error.message.length).toBeLessThan(400);
    expect(error.hint).not.toBe("");
    return error;
  }
  throw new Error("the request did not fail");
}

async function failureOf(reply: Reply): Promise<ProviderError> {
  await using server = new ProviderServer(reply);
  const error = await failWith({ baseUrl: server.baseUrl });
  expect(server.requests).toHaveLength(1);
  return error;
}

describe("an error answer", () => {
  test("of a used-up quota is not worth a retry, although its status is that of a rate limit", async () => {
    const error = await failureOf(
      statusReply(429, { error: { message: "no credit", code: "insufficient_quota" } }),
    );
    expect(error).toMatchObject({ code: "provider-rate-limited", retryable: false });
  });

  test("of an account without credit says so", async () => {
    const error = await failureOf(statusReply(402, { error: { message: "Insufficient Balance" } }));
    expect(error).toMatchObject({ code: "provider-rejected", retryable: false });
    expect(error.explain()).toContain("Insufficient Balance");
    expect(error.hint).toContain("balance");
  });

  test("may name the time to wait in milliseconds", async () => {
    const reply = statusReply(429, "slow down", { "retry-after-ms": "1234", "retry-after": "3" });
    expect((await failureOf(reply)).retryAfterMs).toBe(1234);
  });

  test.each([
    ["a string", { error: "model not found" }, "model not found"],
    ["a detail", { detail: "Not Found" }, "Not Found"],
    ["an object of vLLM", { object: "error", message: "no such model", code: 404 }, "no such model"],
    ["an array, as Gemini's", [{ error: { code: 400, message: "no signature" } }], "no signature"],
    ["another shape", { oops: 1 }, '{"oops":1}'],
    ["plain text", "upstream is down", "upstream is down"],
  ] as const)("as %s is quoted", async (_, body, words) => {
    expect((await failureOf(statusReply(500, body))).message).toEndWith(`: ${words}`);
  });

  test("as a page of HTML is not quoted", async () => {
    const error = await failureOf(
      statusReply(502, "<!doctype html><h1>Bad Gateway</h1>", { "content-type": "text/html" }),
    );
    expect(error.message).toBe("The provider is unavailable (502)");
  });

  test("of many lines is clipped and brought onto one", async () => {
    const error = await failureOf(
      statusReply(400, { error: { message: `first\nsecond ${"x".repeat(5000)}` } }),
    );
    expect(error.message).toContain("first second xxx");
    expect(error.message).toEndWith("…");
  });
});

describe("an error in the stream", () => {
  test.each([
    [{ error: { message: "boom", type: "server_error" } }, "provider-unavailable", true],
    // OpenRouter, when the provider behind it goes away.
    [
      { error: { code: 502, message: "boom" }, choices: [{ index: 0, delta: {}, finish_reason: "error" }] },
      "provider-unavailable",
      true,
    ],
    [{ object: "error", message: "boom", type: "InternalServerError" }, "provider-unavailable", true],
    [[{ error: { message: "boom", code: 400 } }], "provider-rejected", false],
    [{ error: { message: "boom", code: 429 } }, "provider-rate-limited", true],
    [{ error: { message: "boom", code: "context_length_exceeded" } }, "provider-rejected", false],
    [{ error: "boom" }, "provider-unavailable", true],
  ] as const)("%j is told with its words", async (item, code, retryable) => {
    const failure = await failureOf(sseReply([delta({ content: "x" }), item]));
    expect(failure).toMatchObject({ code, retryable });
    expect(failure.message).toEndWith(": boom");
  });

  test("may be an `error` event", async () => {
    const failure = await failureOf(partsReply(['event: error\ndata: {"message":"boom"}\n\n']));
    expect(failure).toMatchObject({ code: "provider-unavailable" });
    expect(failure.message).toEndWith("boom");
  });
});

test("a fetch that fails without any code is unreachable, and its message is not quoted", async () => {
  const error = await failWith({
    baseUrl: "http://provider.example/v1",
    fetch: async () => {
      throw new TypeError(`fetch failed with ${KEY}`);
    },
  });
  expect(error).toMatchObject({
    code: "provider-unreachable",
    message: "The connection to the provider failed",
  });
});

describe("options that no request could be made with are refused at once", () => {
  const valid = { baseUrl: "http://127.0.0.1/v1", requestTimeoutMs: 1000 };
  test.each([
    ["no address", { baseUrl: "" }],
    ["another protocol", { baseUrl: "ftp://host/v1" }],
    ["a password in the address", { baseUrl: `http://user:${KEY}@host/v1` }],
    ["an empty key", { apiKey: "" }],
    ["a key with a line break", { apiKey: `${KEY}\n` }],
    ["no time", { requestTimeoutMs: 0 }],
    ["endless time", { requestTimeoutMs: Number.POSITIVE_INFINITY }],
  ])("%s", (_, options) => {
    try {
      createOpenAICompatible({ ...valid, ...options });
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof ProviderOptionsError)) throw error;
      expect(error.code).toBe("provider-options");
      expect(error.explain()).not.toContain(KEY);
    }
  });
});
