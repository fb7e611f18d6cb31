import { describe, expect, test } from "bun:test";
import { MAX_RESPONSE_BYTES } from "../../../../src/agent/providers/http/exchange.ts";
import type { Chunk } from "../../../../src/session/events.ts";
import { forever } from "../../../fixtures/model-replies.ts";
import {
  CUT,
  heldReply,
  type Part,
  ProviderServer,
  partsReply,
  statusReply,
} from "../../../fixtures/provider-server.ts";
import { connectionTo, END, finish, KEY, text, textAnswer, unended } from "../../../fixtures/wire.ts";
import { askOnce, chunksOf, readAnswer, requestOf } from "../../../fixtures/wire-chunks.ts";
import { expectFailedTurn } from "../../../fixtures/wire-failure.ts";
import { SelfSignedServer, type SocketScript, SocketServer } from "../../../fixtures/wire-servers.ts";
import { EACH_WIRE } from "../../../fixtures/wires.ts";

const HALF = "half a sentence";
const SAID = text(HALF);
const unreachable = { code: "provider-unreachable", retryable: true } as const;
const timeout = { code: "provider-timeout", retryable: true } as const;

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/** One piece of a chunked body. */
function piece(body: string): string {
  return `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
}

/** Sends this and then breaks the connection off as a crashed machine would. */
function reset(...parts: string[]): SocketScript {
  return (socket) => {
    for (const part of parts) socket.write(part);
    socket.flush();
    socket.terminate();
  };
}

/** The parts, and then the noise without an end, a few milliseconds apart. */
function* dripping(parts: Iterable<Part>, noise: readonly string[]): Generator<Part> {
  yield* parts;
  for (;;) {
    for (const part of noise) {
      yield Bun.sleep(5);
      yield part;
    }
  }
}

/** The parts, each some time after the one before, with a comment ahead of it. */
function* slowly(parts: Iterable<Part>): Generator<Part> {
  for (const part of parts) {
    yield Bun.sleep(25);
    yield ": still here\n\n";
    yield part;
  }
}

describe.each(EACH_WIRE)("the network below %s", (_, wire) => {
  const failsAt = (origin: string) => expectFailedTurn(wire, { origin }, unreachable);

  test("a port where nobody listens is unreachable", async () => {
    expect((await failsAt("http://127.0.0.1:1")).message).toContain("ECONNREFUSED");
  });

  test("a name that does not resolve is unreachable", async () => {
    await failsAt("http://holdfast-test.invalid");
  });

  test.each<[string, SocketScript]>([
    ["is reset before its head", reset()],
    ["is reset within its head", reset("HTTP/1.1 200 OK\r\ncontent-ty")],
    ["is closed before its head", (socket) => void socket.end()],
    ["is closed within its head", (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-ty")],
    ["is no HTTP", (socket) => void socket.end(`SSH-2.0-${KEY}\r\n`)],
  ])("an answer that %s is unreachable, after one connection", async (_, script) => {
    using server = new SocketServer(script);
    await failsAt(server.origin);
    expect(server.received).toHaveLength(1);
  });

  test.each(["reset", "closed"])("an answer that is %s in the middle keeps what was said", async (how) => {
    const heard = Promise.withResolvers<void>();
    const [first, ...rest] = wire.encode([SAID, finish("stop")]).map(String);
    const said = [first, ...rest.slice(0, -1)].join("");
    using server = new SocketServer(async (socket) => {
      socket.write(HEAD + piece(said));
      await heard.promise;
      if (how === "reset") socket.terminate();
      else socket.end();
    });
    const failing = { origin: server.origin, onHeard: () => heard.resolve() };
    await expectFailedTurn(wire, failing, { ...unreachable, said: HALF });
  });

  test("a server that crashes in the middle of its answer: the same", async () => {
    const reply = (heard: Promise<unknown>) => unended(wire, SAID, heard, CUT);
    await expectFailedTurn(wire, { reply }, { ...unreachable, said: HALF });
  });

  test("a certificate that nobody vouches for is an error, and no request is sent", async () => {
    await using server = new SelfSignedServer();
    const failed = await expectFailedTurn(
      wire,
      { origin: server.origin },
      { ...unreachable, retryable: false },
    );
    expect(failed.message).toMatch(/certificate|CERT/i);
    expect(server.requests).toBe(0);
  });

  test("a server without TLS behind https gets no key", async () => {
    using server = new SocketServer((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await failsAt(server.origin.replace("http:", "https:"));
    expect(server.received.join("")).not.toContain(KEY);
  });

  test.each([301, 302, 303, 307, 308])(
    "a redirect (%p) is not followed: the other host sees nothing",
    async (status) => {
      await using other = new ProviderServer(textAnswer(wire, "gotcha"));
      const location = `${other.origin}${wire.path}?key=${KEY}`;
      const reply = () => statusReply(status, "", { location });
      const expected = { code: "provider-bad-response", retryable: false, status } as const;
      await expectFailedTurn(wire, { reply }, expected);
      expect(other.requests).toEqual([]);
    },
  );
});

describe.each(EACH_WIRE)("HTTP below %s", (_, wire) => {
  const body = wire
    .encode([SAID, finish("stop"), END])
    .map(String)
    .join("");
  const type = "content-type: text/event-stream\r\n";

  test.each([
    ["end with its connection, as HTTP/1.0 has it", `HTTP/1.0 200 OK\r\n${type}\r\n${body}`],
    [
      "come after an early hint",
      `HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 OK\r\n${type}\r\n${body}`,
    ],
  ])("lets an answer %s", async (_, answer) => {
    using server = new SocketServer((socket) => void socket.end(answer));
    const provider = await wire.connect(connectionTo(wire, server.origin));
    expect(readAnswer(await chunksOf(wire, provider))).toMatchObject({
      blocks: [{ text: HALF }],
      finish: "stop",
    });
  });

  test("may break once the answer is complete", async () => {
    const heard = Promise.withResolvers<void>();
    using server = new SocketServer(async (socket) => {
      socket.write(HEAD + piece(body));
      await heard.promise;
      socket.terminate();
    });
    const provider = await wire.connect(connectionTo(wire, server.origin));
    const seen: Chunk[] = [];
    for await (const chunk of provider.stream(requestOf(wire), new AbortController().signal)) {
      seen.push(chunk);
      heard.resolve();
    }
    expect(readAnswer(seen)).toMatchObject({ blocks: [{ text: HALF }], finish: "stop" });
  });
});

describe.each(EACH_WIRE)("the silence of %s", (_, wire) => {
  test("a server that accepts the request and says nothing meets the connect timeout", async () => {
    const reply = () => heldReply(forever(), textAnswer(wire, "late"));
    await expectFailedTurn(wire, { reply, times: { connectTimeoutMs: 40 } }, timeout);
  });

  test("half a head meets the connect timeout", async () => {
    using server = new SocketServer((socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-ty"));
    await expectFailedTurn(wire, { origin: server.origin, times: { connectTimeoutMs: 40 } }, timeout);
  });

  test("a head and then nothing meets the idle timeout, not the connect timeout", async () => {
    using server = new SocketServer((socket) => void socket.write(HEAD));
    await expectFailedTurn(wire, { origin: server.origin, times: { idleTimeoutMs: 40 } }, timeout);
  });

  test("some words and then nothing meet the idle timeout", async () => {
    const reply = () => unended(wire, SAID, forever());
    await expectFailedTurn(wire, { reply, times: { idleTimeoutMs: 120 } }, { ...timeout, said: HALF });
  });

  test("an error whose body never ends meets the idle timeout", async () => {
    const reply = () => partsReply(["oops", forever()], { status: 500 });
    const failed = await expectFailedTurn(wire, { reply, times: { idleTimeoutMs: 40 } }, timeout);
    expect(failed.message).not.toContain("oops");
  });

  test("an answer that drips, but says nothing, meets the total timeout only", async () => {
    const noise = [": still here\n\n", ...wire.oddities];
    const reply = () => partsReply(dripping(wire.encode([SAID]), noise));
    const times = { connectTimeoutMs: 250, idleTimeoutMs: 250, requestTimeoutMs: 300 };
    const failed = await expectFailedTurn(wire, { reply, times }, { ...timeout, said: HALF });
    expect(failed.message).toContain("0.3 s");
  });

  test("an answer that takes longer than the connect and idle timeouts together is none the worse", async () => {
    const parts = wire.encode([..."half a sent".split("").map(text), finish("stop"), END]);
    await using server = new ProviderServer(partsReply(slowly(parts)));
    const times = { connectTimeoutMs: 300, idleTimeoutMs: 300 };
    const provider = await wire.connect(connectionTo(wire, server.origin, times));
    expect(readAnswer(await chunksOf(wire, provider))).toMatchObject({ blocks: [{ text: "half a sent" }] });
  });

  test("a reader that takes its time does not run into the idle timeout", async () => {
    await using server = new ProviderServer(textAnswer(wire, "a", "b", "c"));
    const provider = await wire.connect(connectionTo(wire, server.origin, { idleTimeoutMs: 100 }));
    let said = "";
    for await (const chunk of provider.stream(requestOf(wire), new AbortController().signal)) {
      if (chunk.type !== "text-delta") continue;
      if (said === "") await Bun.sleep(130);
      said += chunk.text;
    }
    expect(said).toBe("abc");
  });
});

describe.each(EACH_WIRE)("a gigantic answer of %s", (_, wire) => {
  const block = new Uint8Array(4 * 1024 * 1024).fill(0x78);
  const blocks = Array.from({ length: MAX_RESPONSE_BYTES / block.length + 1 }, () => block);

  test.each([200, 500])("is cut at a bound, with status %p", async (status) => {
    const failed = await expectFailedTurn(
      wire,
      { reply: () => partsReply(["data: ", ...blocks], { status }) },
      status === 200
        ? { code: "provider-bad-response", retryable: true }
        : { code: "provider-unavailable", retryable: true, status },
    );
    expect(failed.message.length).toBeLessThan(300);
  });

  test("in one delta of a megabyte is taken whole", async () => {
    const long = "é".repeat(512 * 1024);
    expect(readAnswer(await askOnce(wire, textAnswer(wire, long))).blocks).toEqual([
      { type: "text", text: long },
    ]);
  });
});
