import { describe, expect, test } from "bun:test";
import { type ModelRequest, ProviderError } from "../../../../src/agent/provider.ts";
import { MAX_RESPONSE_BYTES } from "../../../../src/agent/providers/http/exchange.ts";
import {
  createOpenAICompatible,
  type OpenAICompatibleOptions,
  ProviderOptionsError,
} from "../../../../src/agent/providers/openai-compatible/index.ts";
import {
  CUT,
  delta,
  event,
  finish,
  heldReply,
  ProviderServer,
  partsReply,
  type Reply,
  sseReply,
  statusReply,
  textReply,
} from "../../../fixtures/provider-server.ts";

const KEY = "sk-secret-0123456789abcdef";
const NOW = Date.UTC(2030, 0, 1);

const request: ModelRequest = {
  config: { provider: "openai-compatible", model: "m" },
  tools: [],
  messages: [{ id: "u", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } }],
};

async function failWith(
  options: Partial<OpenAICompatibleOptions> & { baseUrl: string },
): Promise<ProviderError> {
  const provider = createOpenAICompatible({
    apiKey: KEY,
    requestTimeoutMs: 30_000,
    clock: () => NOW,
    ...options,
  });
  try {
    for await (const chunk of provider.stream(request, new AbortController().signal)) void chunk;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const everything = `${error.explain()} ${error.requestId} ${error.stack} ${Bun.inspect(error)}`;
    expect(everything).not.toContain(KEY);
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

describe("status codes, each after exactly one request", () => {
  test.each([
    [400, "provider-rejected", false],
    [401, "provider-auth", false],
    [402, "provider-rejected", false],
    [403, "provider-auth", false],
    [404, "provider-rejected", false],
    [408, "provider-timeout", true],
    [409, "provider-unavailable", true],
    [413, "provider-rejected", false],
    [422, "provider-rejected", false],
    [429, "provider-rate-limited", true],
    [500, "provider-unavailable", true],
    [502, "provider-unavailable", true],
    [503, "provider-unavailable", true],
    [529, "provider-unavailable", true],
  ] as const)("%p is %s", async (status, code, retryable) => {
    const error = await failureOf(
      statusReply(status, { error: { message: "what the provider says", type: "t" } }),
    );
    expect(error).toMatchObject({ code, retryable, status });
    expect(error.message).toContain("what the provider says");
  });

  test("a redirect is not followed, so that the key stays with its host", async () => {
    await using other = new ProviderServer(textReply("gotcha"));
    const error = await failureOf(statusReply(307, "", { location: `${other.baseUrl}/chat/completions` }));
    expect(error).toMatchObject({ code: "provider-bad-response", retryable: false, status: 307 });
    expect(other.requests).toHaveLength(0);
  });

  test("a used-up quota is not worth a retry, although its status is that of a rate limit", async () => {
    const error = await failureOf(
      statusReply(429, { error: { message: "no credit", code: "insufficient_quota" } }),
    );
    expect(error).toMatchObject({ code: "provider-rate-limited", retryable: false });
  });

  test("the request id is kept", async () => {
    const error = await failureOf(statusReply(500, "", { "x-request-id": "req_42" }));
    expect(error.requestId).toBe("req_42");
  });
});

describe("Retry-After", () => {
  const date = (ms: number) => new Date(NOW + ms).toUTCString();
  test.each([
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": date(90_000) }, 90_000],
    [{ "retry-after": date(-90_000) }, 0],
    [{ "retry-after-ms": "1234", "retry-after": "3" }, 1234],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-5" }, undefined],
    [{}, undefined],
  ] as ReadonlyArray<[Record<string, string>, number | undefined]>)(
    "%j waits %p ms",
    async (headers, expected) => {
      const error = await failureOf(statusReply(429, "slow down", headers));
      expect(error.retryAfterMs).toBe(expected);
    },
  );

  test("counts for an overloaded provider too", async () => {
    expect((await failureOf(statusReply(503, "busy", { "retry-after": "2" }))).retryAfterMs).toBe(2000);
  });
});

describe("the provider's words", () => {
  test.each([
    ["an error as a string", { error: "model not found" }, "model not found"],
    ["a detail", { detail: "Not Found" }, "Not Found"],
    ["another shape", { oops: 1 }, '{"oops":1}'],
    ["plain text", "upstream is down", "upstream is down"],
  ] as const)("%s is quoted", async (_, body, words) => {
    expect((await failureOf(statusReply(500, body))).message).toEndWith(`: ${words}`);
  });

  test("a page of HTML is not quoted", async () => {
    const error = await failureOf(
      statusReply(502, "<!doctype html><h1>Bad Gateway</h1>", { "content-type": "text/html" }),
    );
    expect(error.message).toBe("The provider is unavailable (502)");
  });

  test("a long message is clipped and brought onto one line", async () => {
    const error = await failureOf(
      statusReply(400, { error: { message: `first\nsecond ${"x".repeat(5000)}` } }),
    );
    expect(error.message).toContain("first second xxx");
    expect(error.message).toEndWith("…");
  });

  test("an API key that the provider echoes is masked, wherever it stands", async () => {
    const message = `${"x".repeat(190)} Incorrect API key ${KEY}`;
    const byStatus = await failureOf(statusReply(401, { error: { message } }, { "x-request-id": KEY }));
    expect(byStatus.message).not.toContain("sk-secret");
    const asText = await failureOf(statusReply(500, `key=${KEY}`));
    expect(asText.message).toEndWith("key=[API key]");
    const inStream = await failureOf(sseReply([{ error: { message: `bad ${KEY}` } }]));
    expect(inStream.message).toEndWith("bad [API key]");
  });
});

describe("answers that cannot be used", () => {
  const bad: ReadonlyArray<readonly [string, Reply]> = [
    ["a stream that ends without a finish reason", partsReply([event(delta({ content: "x" }))])],
    ["an empty stream", partsReply([])],
    ["only [DONE]", sseReply([])],
    ["JSON that is malformed", partsReply([event('{"choices":[')])],
    ["a chunk of another shape", sseReply([{ choices: "none" }])],
    ["a JSON body instead of a stream", statusReply(200, { choices: [] })],
    ["a page of HTML", statusReply(200, "<html></html>", { "content-type": "text/html" })],
    ["no body", () => new Response(null, { status: 204 })],
    [
      "a tool call without id",
      sseReply([delta({ tool_calls: [{ index: 0, id: "" }] }), finish("tool_calls")]),
    ],
    ["two finish reasons", sseReply([finish("stop"), finish("length")])],
  ];
  test.each(bad)("%s", async (_, reply) => {
    expect((await failureOf(reply)).code).toBe("provider-bad-response");
  });

  test("another content type is not worth a retry, a broken stream is", async () => {
    const page = await failureOf(statusReply(200, "<html></html>", { "content-type": "text/html" }));
    expect(page.retryable).toBe(false);
    expect((await failureOf(partsReply([]))).retryable).toBe(true);
  });

  test("an endless answer is cut at a bound", async () => {
    const block = new Uint8Array(4 * 1024 * 1024).fill(0x20);
    const blocks = Array.from({ length: MAX_RESPONSE_BYTES / block.length + 1 }, () => block);
    expect(await failureOf(partsReply(blocks))).toMatchObject({ code: "provider-bad-response" });
  });

  test("a content filter is a rejection", async () => {
    const error = await failureOf(sseReply([delta({ content: "x" }), finish("content_filter")]));
    expect(error).toMatchObject({ code: "provider-rejected", retryable: false });
  });
});

describe("errors inside the stream", () => {
  test.each([
    [{ message: "overloaded", type: "server_error" }, "provider-unavailable", true],
    [{ message: "slow down", code: 429 }, "provider-rate-limited", true],
    [{ message: "slow down", code: "rate_limit_exceeded" }, "provider-rate-limited", true],
    [{ message: "too long", code: "context_length_exceeded" }, "provider-rejected", false],
    [{ message: "no", type: "invalid_request_error" }, "provider-rejected", false],
    ["out of memory", "provider-unavailable", true],
  ] as const)("%j is %s", async (error, code, retryable) => {
    const failure = await failureOf(sseReply([delta({ content: "x" }), { error }]));
    expect(failure).toMatchObject({ code, retryable });
  });

  test("an `error` event counts as well", async () => {
    const failure = await failureOf(partsReply(['event: error\ndata: {"message":"boom"}\n\n']));
    expect(failure).toMatchObject({ code: "provider-unavailable" });
    expect(failure.message).toEndWith("boom");
  });
});

describe("the network", () => {
  test.each([
    ["a port where nobody listens", "http://127.0.0.1:1/v1", "ECONNREFUSED"],
    ["a name that does not resolve", "http://holdfast-test.invalid/v1", ""],
  ])("%s is unreachable", async (_, baseUrl, code) => {
    const error = await failWith({ baseUrl });
    expect(error).toMatchObject({ code: "provider-unreachable", retryable: true });
    expect(error.message).toContain(code);
  });

  test("a server without TLS behind https is unreachable", async () => {
    await using server = new ProviderServer(textReply("hi"));
    const error = await failWith({ baseUrl: server.baseUrl.replace("http:", "https:") });
    expect(error).toMatchObject({ code: "provider-unreachable", retryable: true });
  });

  test("a connection that breaks in the middle of the answer is unreachable", async () => {
    const error = await failureOf(partsReply([event(delta({ content: "x" })), CUT]));
    expect(error).toMatchObject({ code: "provider-unreachable", retryable: true });
  });

  test("a fetch that fails without any code is unreachable too, and its message is not quoted", async () => {
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
});

describe("the time limit", () => {
  test("covers the wait for the answer to begin", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(heldReply(gate.promise, textReply("late")));
    const error = await failWith({ baseUrl: server.baseUrl, requestTimeoutMs: 50 });
    expect(error).toMatchObject({ code: "provider-timeout", retryable: true });
    gate.resolve();
  });

  test("covers an answer that stalls halfway", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(
      sseReply([delta({ content: "x" }), gate.promise, finish("stop")]),
    );
    const error = await failWith({ baseUrl: server.baseUrl, requestTimeoutMs: 50 });
    expect(error).toMatchObject({ code: "provider-timeout", retryable: true });
    expect(error.message).toContain("0.05 s");
    gate.resolve();
  });

  test("covers an error answer whose body never ends", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(partsReply(["oops", gate.promise], { status: 500 }));
    expect((await failWith({ baseUrl: server.baseUrl, requestTimeoutMs: 50 })).code).toBe("provider-timeout");
    gate.resolve();
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
