import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../../../src/agent/provider.ts";
import { createOpenAICompatible } from "../../../../src/agent/providers/openai-compatible/index.ts";
import type { Chunk } from "../../../../src/session/events.ts";
import {
  delta,
  event,
  finish,
  heldReply,
  ProviderServer,
  packets,
  partsReply,
  sseReply,
  textReply,
  toolCallReply,
  usage,
} from "../../../fixtures/provider-server.ts";

const request: ModelRequest = {
  config: { provider: "openai-compatible", model: "test-model", temperature: 0.5 },
  system: "Be kind.",
  tools: [{ name: "f", description: "F", parameters: { type: "object" } }],
  messages: [
    { id: "u1", role: "user", content: [{ type: "text", text: "héllo" }], source: { kind: "user" } },
  ],
};

function connect(server: ProviderServer, apiKey?: string) {
  return createOpenAICompatible({
    baseUrl: server.baseUrl,
    requestTimeoutMs: 30_000,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

const never = () => new AbortController().signal;

async function textOf(chunks: AsyncIterable<Chunk>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) if (chunk.type === "text-delta") text += chunk.text;
  return text;
}

describe("the request", () => {
  test("is one POST of the body to /chat/completions below the base URL, with the key", async () => {
    await using server = new ProviderServer(textReply("hi"));
    await textOf(connect(server, "sk-test-1").stream(request, never()));
    expect(server.requests).toHaveLength(1);
    const [sent] = server.requests;
    expect(sent?.method).toBe("POST");
    expect(sent?.path).toBe("/v1/chat/completions");
    expect(sent?.headers.get("authorization")).toBe("Bearer sk-test-1");
    expect(sent?.headers.get("content-type")).toBe("application/json");
    expect(sent?.body).toBe(
      '{"model":"test-model","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"héllo"}],' +
        '"tools":[{"type":"function","function":{"name":"f","description":"F","parameters":{"type":"object"}}}],' +
        '"temperature":0.5,"stream":true,"stream_options":{"include_usage":true}}',
    );
  });

  test("has the same bytes each time", async () => {
    await using server = new ProviderServer(textReply("1"), textReply("2"));
    const provider = connect(server);
    await textOf(provider.stream(request, never()));
    await textOf(provider.stream(structuredClone(request), never()));
    expect(server.requests[1]?.body).toBe(server.requests[0]?.body ?? "");
  });

  test("has no Authorization header without a key, and no header that names the client's machine", async () => {
    await using server = new ProviderServer(textReply("hi"));
    await textOf(connect(server).stream(request, never()));
    const names = [...(server.requests[0]?.headers.keys() ?? [])];
    expect(names.sort()).toEqual([
      "accept",
      "accept-encoding",
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
    ]);
  });

  test("a base URL may end with a slash", async () => {
    await using server = new ProviderServer(textReply("hi"));
    const provider = createOpenAICompatible({ baseUrl: `${server.baseUrl}/`, requestTimeoutMs: 30_000 });
    expect(await textOf(provider.stream(request, never()))).toBe("hi");
    expect(server.requests[0]?.path).toBe("/v1/chat/completions");
  });

  test("environment variables of the client library change nothing", async () => {
    await using server = new ProviderServer(textReply("hi"));
    const outcome = await runWithEnvironment(server.baseUrl, {
      OPENAI_BASE_URL: "http://127.0.0.1:1/elsewhere",
      OPENAI_API_KEY: "sk-from-env",
      OPENAI_ADMIN_KEY: "sk-admin-from-env",
      OPENAI_ORG_ID: "org-from-env",
      OPENAI_PROJECT_ID: "project-from-env",
      OPENAI_CUSTOM_HEADERS: "x-custom: from-env",
      OPENAI_LOG: "debug",
    });
    expect(outcome).toBe("finished");
    expect(JSON.stringify([...(server.requests[0]?.headers ?? [])])).not.toContain("from-env");
  });

  test("a variable that stops the client library is an error that names it", async () => {
    await using server = new ProviderServer(textReply("hi"));
    const outcome = await runWithEnvironment(server.baseUrl, { OPENAI_CUSTOM_HEADERS: "no name: x" });
    expect(outcome).toBe("provider-rejected: Unset the environment variable OPENAI_CUSTOM_HEADERS.");
  });
});

/** Sends one request from a process of its own with these variables, and returns all that it prints. */
async function runWithEnvironment(baseUrl: string, variables: Record<string, string>): Promise<string> {
  const script = `
    import { createOpenAICompatible } from "./src/agent/providers/openai-compatible/index.ts";
    const provider = createOpenAICompatible({ baseUrl: process.argv[1], requestTimeoutMs: 30_000 });
    const request = { config: { provider: "p", model: "m" }, tools: [], messages: [] };
    try {
      for await (const chunk of provider.stream(request, new AbortController().signal)) void chunk;
      process.stdout.write("finished");
    } catch (error) {
      process.stdout.write(error.code + ": " + error.hint);
    }
  `;
  const child = Bun.spawn([process.execPath, "-e", script, baseUrl], {
    cwd: `${import.meta.dir}/../../../..`,
    env: { PATH: process.env["PATH"] ?? "", ...variables },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  return out + err;
}

describe("the answer", () => {
  test("streams: a chunk is there before the provider has sent the next one", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(
      sseReply([delta({ content: "first" }), gate.promise, delta({ content: "second" }), finish("stop")]),
    );
    const seen: Chunk[] = [];
    for await (const chunk of connect(server).stream(request, never())) {
      seen.push(chunk);
      // Only now does the provider go on: reading ahead of it would hang here.
      if (chunk.type === "text-delta" && chunk.text === "first") gate.resolve();
    }
    expect(seen.map((chunk) => chunk.type)).toEqual([
      "block-start",
      "text-delta",
      "text-delta",
      "block-end",
      "finish",
    ]);
  });

  test("carries tool calls and usage", async () => {
    await using server = new ProviderServer(
      toolCallReply({ id: "c1", name: "f", arguments: '{"a":1}' }, { id: "c2", name: "f", arguments: "" }),
    );
    const chunks = await Array.fromAsync(connect(server).stream(request, never()));
    const blocks = chunks.flatMap((chunk) => (chunk.type === "block-end" ? [chunk.block] : []));
    expect<unknown>(blocks).toEqual([
      { type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' },
      { type: "tool-call", id: "c2", name: "f", arguments: "{}" },
    ]);
    expect(chunks.slice(-2)).toEqual([
      { type: "usage", usage: { inputTokens: 10, outputTokens: 2 } },
      { type: "finish", reason: { kind: "tool-calls" } },
    ]);
  });

  test.each([1, 2, 3, 7])(
    "is the same when it arrives in packets of %p bytes, through characters",
    async (size) => {
      const body = [
        delta({ content: "héllo " }),
        delta({ content: "😀 wörld" }),
        finish("stop"),
        usage(1, 2),
        "[DONE]",
      ];
      await using server = new ProviderServer(
        partsReply(packets(body.map((item) => event(item)).join(""), size)),
      );
      expect(await textOf(connect(server).stream(request, never()))).toBe("héllo 😀 wörld");
    },
  );

  test.each(["\n", "\r\n", "\r"])(
    "may have comments, other fields, a byte order mark, and %j as line end",
    async (end) => {
      const body = `\ufeff: hello${end}${end}event: message${end}id: 1${end}retry: 10${end}${event(delta({ content: "x" }), end)}: keep-alive${end}${end}${event(finish("stop"), end)}${event("[DONE]", end)}`;
      await using server = new ProviderServer(partsReply(packets(body, 5)));
      expect(await textOf(connect(server).stream(request, never()))).toBe("x");
    },
  );

  test("may lack [DONE] and the last blank line", async () => {
    await using server = new ProviderServer(
      partsReply([event(delta({ content: "x" })), event(finish("stop")).trimEnd()]),
    );
    expect(await textOf(connect(server).stream(request, never()))).toBe("x");
  });

  test("may come without a content type", async () => {
    await using server = new ProviderServer(
      partsReply([event(delta({ content: "x" })), event(finish("stop"))], { headers: {} }),
    );
    expect(await textOf(connect(server).stream(request, never()))).toBe("x");
  });
});

/** What a promise rejects with. (`expect().rejects` turns the event loop itself, in slow ticks.) */
function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error("it did not reject"),
    (error: unknown) => error,
  );
}

describe("cancelling", () => {
  const reason = new Error("the caller's own reason");

  test("a signal that has fired already sends no request", async () => {
    await using server = new ProviderServer(textReply("hi"));
    const stream = connect(server).stream(request, AbortSignal.abort(reason));
    expect(await rejection(textOf(stream))).toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test("while waiting for the answer, throws the signal's reason and hangs up", async () => {
    const controller = new AbortController();
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(heldReply(gate.promise, textReply("late")));
    const result = textOf(connect(server).stream(request, controller.signal));
    const { signal } = await server.request();
    const hungUp = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => hungUp.resolve());
    controller.abort(reason);
    expect(await rejection(result)).toBe(reason);
    await hungUp.promise;
    gate.resolve();
  });

  test("in the middle of the answer, throws the signal's reason and hangs up", async () => {
    const controller = new AbortController();
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(
      sseReply([delta({ content: "x" }), gate.promise, finish("stop")]),
    );
    const hungUp = Promise.withResolvers<void>();
    const run = async () => {
      for await (const chunk of connect(server).stream(request, controller.signal)) {
        if (chunk.type !== "text-delta") continue;
        (await server.request()).signal.addEventListener("abort", () => hungUp.resolve());
        controller.abort(reason);
      }
    };
    expect(await rejection(run())).toBe(reason);
    await hungUp.promise;
    gate.resolve();
  });

  test("at the last chunk, still throws the signal's reason", async () => {
    const controller = new AbortController();
    await using server = new ProviderServer(textReply("hi"));
    const run = async () => {
      for await (const chunk of connect(server).stream(request, controller.signal)) {
        if (chunk.type === "block-end") controller.abort(reason);
      }
    };
    expect(await rejection(run())).toBe(reason);
  });

  test("a reader that stops early hangs up", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(
      sseReply([delta({ content: "x" }), gate.promise, finish("stop")]),
    );
    const hungUp = Promise.withResolvers<void>();
    for await (const chunk of connect(server).stream(request, never())) {
      (await server.request()).signal.addEventListener("abort", () => hungUp.resolve());
      expect(chunk.type).toBe("block-start");
      break;
    }
    await hungUp.promise;
    gate.resolve();
  });
});
