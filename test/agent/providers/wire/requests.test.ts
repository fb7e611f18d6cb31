import { describe, expect, test } from "bun:test";
import type { Chunk } from "../../../../src/session/events.ts";
import { forever } from "../../../fixtures/model-replies.ts";
import { heldReply, ProviderServer } from "../../../fixtures/provider-server.ts";
import { connectionTo, finish, KEY, text, textAnswer, unended, type Wire } from "../../../fixtures/wire.ts";
import { chunksOf, readAnswer, requestOf } from "../../../fixtures/wire-chunks.ts";
import { EACH_WIRE } from "../../../fixtures/wires.ts";

const never = () => new AbortController().signal;
const reason = new Error("the caller's own reason");

/** What the client libraries read when nobody stops them. */
const VARIABLES = ["BASE_URL", "API_KEY", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "LOG", "MODEL"];

describe.each(EACH_WIRE)("a request over %s", (_, wire) => {
  test("is one POST with the key in its header and nothing about the machine", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    await chunksOf(wire, await wire.connect(connectionTo(wire, server.origin)));
    expect(server.requests).toHaveLength(1);
    const [sent] = server.requests;
    const [name, prefix] = wire.keyHeader;
    expect(sent).toMatchObject({ method: "POST", path: wire.path });
    expect(sent?.headers.get(name)).toBe(`${prefix}${KEY}`);
    expect(sent?.headers.get("content-type")).toBe("application/json");
    expect(sent?.headers.get("user-agent")).toBe("holdfast");
    expect([...(sent?.headers.keys() ?? [])].filter((header) => header.startsWith("x-stainless"))).toEqual(
      [],
    );
    expect(`${sent?.path}${sent?.body}`).not.toContain(KEY);
  });

  test("has no key header without a key", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    const { apiKey: _none, ...connection } = connectionTo(wire, server.origin);
    await chunksOf(wire, await wire.connect(connection));
    const names = [...(server.requests[0]?.headers.keys() ?? [])];
    expect(names).not.toContain("authorization");
    expect(names).not.toContain("x-api-key");
  });

  test("goes to the same place when the base URL ends with a slash", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    const connection = connectionTo(wire, server.origin);
    await chunksOf(wire, await wire.connect({ ...connection, baseUrl: `${connection.baseUrl}/` }));
    expect(server.requests[0]?.path).toBe(wire.path);
  });

  test("does not listen to the variables of the client library", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    const vendor = wire.name === "anthropic" ? "ANTHROPIC" : "OPENAI";
    const values = VARIABLES.map((name) => [
      `${vendor}_${name}`,
      name === "LOG" ? "debug" : "http://from-env.invalid",
    ]);
    const custom = { [`${vendor}_CUSTOM_HEADERS`]: "x-custom: from-env" };
    expect(await askAlone(wire, server.origin, { ...Object.fromEntries(values), ...custom })).toBe(
      "finished",
    );
    const [sent] = server.requests;
    expect(`${JSON.stringify([...(sent?.headers ?? [])])}${sent?.body}`).not.toContain("from-env");
  });
});

describe.each(EACH_WIRE)("a proxy for %s", (_, wire) => {
  test("is not asked for a server on this machine", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    const proxy = "http://127.0.0.1:1";
    const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"];
    const variables = Object.fromEntries(names.map((name) => [name, proxy]));
    expect(await askAlone(wire, server.origin, variables)).toBe("finished");
  });
});

/** Sends one request from a process of its own with these variables, and returns all that it prints. */
async function askAlone(wire: Wire, origin: string, variables: Record<string, string>): Promise<string> {
  const script = `
    import { PROVIDERS } from "./src/agent/providers/index.ts";
    const { name, connection, request } = JSON.parse(process.env.TASK);
    const provider = await PROVIDERS[name].connect(connection);
    try {
      for await (const chunk of provider.stream(request, new AbortController().signal)) void chunk;
      process.stdout.write("finished");
    } catch (error) {
      process.stdout.write(error.code + ": " + error.message);
    }
  `;
  const task = { name: wire.name, connection: connectionTo(wire, origin), request: requestOf(wire) };
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: `${import.meta.dir}/../../../..`,
    env: { PATH: process.env["PATH"] ?? "", TASK: JSON.stringify(task), ...variables },
    stdout: "pipe",
    stderr: "pipe",
  });
  const streams = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const texts = await Promise.all(streams);
  await child.exited;
  return texts.join("");
}

describe.each(EACH_WIRE)("cancelling a request over %s", (_, wire) => {
  /** Reads an answer and calls back for each chunk; returns what it rejects with. */
  async function readUntilThrown(
    server: ProviderServer,
    signal: AbortSignal,
    seen: (chunk: Chunk) => Promise<void>,
  ) {
    const provider = await wire.connect(connectionTo(wire, server.origin));
    try {
      for await (const chunk of provider.stream(requestOf(wire), signal)) await seen(chunk);
    } catch (error) {
      return error;
    }
    return undefined;
  }

  /** Resolves when the client hangs up. */
  async function hangUp(server: ProviderServer): Promise<void> {
    const { signal } = await server.request();
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve());
    await promise;
  }

  test("before it is sent: it is not sent", async () => {
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    expect(await readUntilThrown(server, AbortSignal.abort(reason), async () => undefined)).toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test("while it waits for its answer: throws the signal's reason and hangs up", async () => {
    const controller = new AbortController();
    await using server = new ProviderServer(heldReply(forever(), textAnswer(wire, "late")));
    const outcome = readUntilThrown(server, controller.signal, async () => undefined);
    await server.request();
    controller.abort(reason);
    expect(await outcome).toBe(reason);
    await hangUp(server);
  });

  test("in the middle of the answer: the same", async () => {
    const controller = new AbortController();
    await using server = new ProviderServer(unended(wire, text("x"), forever()));
    const outcome = await readUntilThrown(server, controller.signal, async ({ type }) => {
      if (type === "text-delta") controller.abort(reason);
    });
    expect(outcome).toBe(reason);
    await hangUp(server);
  });

  test("at the end of the answer: throws the signal's reason, however much there is already", async () => {
    const controller = new AbortController();
    await using server = new ProviderServer(textAnswer(wire, "hi"));
    const outcome = await readUntilThrown(server, controller.signal, async ({ type }) => {
      if (type === "block-end") controller.abort(reason);
    });
    expect(outcome).toBe(reason);
  });

  test("a reader that stops early hangs up", async () => {
    await using server = new ProviderServer(unended(wire, text("x"), forever()));
    const provider = await wire.connect(connectionTo(wire, server.origin));
    for await (const chunk of provider.stream(requestOf(wire), never())) {
      expect(chunk.type).toBe("block-start");
      break;
    }
    await hangUp(server);
  });

  test("a chunk is there before the provider has sent the next one", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = new ProviderServer(
      unended(wire, text("first"), gate.promise, text("second"), finish("stop"), { kind: "end" }),
    );
    const seen: Chunk[] = [];
    await readUntilThrown(server, never(), async (chunk) => {
      seen.push(chunk);
      // Only now does the provider go on: reading ahead of it would hang here.
      if (chunk.type === "text-delta" && chunk.text === "first") gate.resolve();
    });
    expect(readAnswer(seen).blocks).toEqual([{ type: "text", text: "firstsecond" }]);
  });
});
