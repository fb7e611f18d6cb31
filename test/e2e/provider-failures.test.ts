import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { CUT, ProviderServer, partsReply, type Reply, statusReply } from "../fixtures/provider-server.ts";
import { SseClient } from "../fixtures/sse-client.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import {
  answer,
  call,
  data,
  errorAnswer,
  failure,
  finish,
  KEY,
  text,
  textAnswer,
  unended,
  type Wire,
} from "../fixtures/wire.ts";
import { chatCompletions } from "../fixtures/wire-chat-completions.ts";
import { SelfSignedServer, SocketServer } from "../fixtures/wire-servers.ts";
import { EACH_WIRE } from "../fixtures/wires.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const SAID = text("half");
const DEEP = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
const BAD = "provider-bad-response";

/** What a provider may do, and the code and status that its client gets. */
function failures(wire: Wire): ReadonlyArray<readonly [string, number, string, Reply]> {
  return [
    ["400", 502, "provider-rejected", errorAnswer(wire, 400, "no")],
    ["401", 502, "provider-auth", errorAnswer(wire, 401, "no")],
    ["429", 502, "provider-rate-limited", errorAnswer(wire, 429, "no", { "retry-after": "9" })],
    ["500", 502, "provider-unavailable", errorAnswer(wire, 500, "no")],
    [
      "503 with a page",
      502,
      "provider-unavailable",
      statusReply(503, "<html>", { "content-type": "text/html" }),
    ],
    ["an error nested without an end", 502, "provider-rejected", statusReply(400, `{"error":${DEEP}}`)],
    ["a redirect", 502, BAD, statusReply(307, "", { location: "/elsewhere" })],
    ["a page", 502, BAD, statusReply(200, "<html>", { "content-type": "text/html" })],
    ["nothing", 502, BAD, partsReply([])],
    ["an error event", 502, "provider-unavailable", unended(wire, SAID, failure("overloaded", "no"))],
    ["malformed JSON", 502, BAD, answer(wire, SAID, data('{"a": '), finish("stop"))],
    ["JSON nested without an end", 502, BAD, answer(wire, SAID, data(`{"choices":${DEEP},"type":${DEEP}}`))],
    ["NaN", 502, BAD, answer(wire, SAID, data("NaN"), finish("stop"))],
    ["an end too early", 502, BAD, unended(wire, SAID)],
    ["a cut", 502, "provider-unreachable", partsReply([...wire.encode([SAID]), CUT])],
    ["more after the end", 502, BAD, answer(wire, SAID, finish("stop"), text("!"))],
    ["two ends", 502, BAD, answer(wire, SAID, finish("stop"), finish("max-tokens"))],
    ["half a surrogate pair", 502, BAD, answer(wire, SAID, text("a\ud800b"), finish("stop"))],
    ["a call without an id", 502, BAD, answer(wire, call(0, { id: "", name: "f" }), finish("tool-calls"))],
    ["a call without a name", 502, BAD, answer(wire, call(0, { id: "a", name: "" }), finish("tool-calls"))],
    [
      ...(["two calls of one id", 502, BAD] as const),
      answer(wire, ...[0, 1].map((k) => call(k, { id: "a", name: "f", args: "{}" })), finish("tool-calls")),
    ],
  ];
}

const ENV = { MY_KEY: KEY };

function ask(wire: Wire, origin: string): string[] {
  const model = ["--provider", wire.name, "--model", "m", "--base-url", wire.baseUrl(origin)];
  return [...model, "--api-key-env", "MY_KEY", "--retries", "0"];
}

describe.each(EACH_WIRE)("a provider that fails over %s", (_, wire) => {
  test("is told by a Host with a code, and leaves a closed Turn and a history without it", async () => {
    const cases = failures(wire);
    const better = textAnswer(wire, "better");
    await using server = new ProviderServer(...cases.map(([, , , reply]) => reply), better);
    await using host = await HostProcess.start({ args: ask(wire, server.origin), env: ENV });
    for (const [how, status, code] of cases) {
      await using client = await SseClient.invoke(host.url, "a", how);
      const last = (await client.rest()).at(-1);
      expect({ how, last }).toMatchObject({ how, last: { event: "error", data: { status, code } } });
    }
    expect((await host.client.invoke("at last")).body).toMatchObject({ message: "better" });
    // One request for each, and none that holds what was half said.
    expect(server.requests).toHaveLength(cases.length + 1);
    const history = wire.history(server.requests.at(-1)?.body ?? "");
    expect(history.every(({ role }) => role === "user")).toBe(true);
    const { events } = await host.client.read();
    const ends = events.filter(({ type }) => type === "turn/end").map(({ data }) => data);
    expect(ends).toMatchObject([
      ...cases.map(([, , code]) => ({ reason: { kind: "error", error: { code } } })),
      { reason: { kind: "completed" } },
    ]);
    expect(events.filter(({ type }) => type === "assistant/message")).toHaveLength(1);
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
    expect(host.stderr.text).not.toMatch(/internal|RangeError|TypeError/);
  });
});

test("a provider that fails below HTTP is told by invoke, with what to do", async () => {
  await using folder = await TempFolder.create();
  await using tls = new SelfSignedServer();
  using broken = new SocketServer((socket) => void socket.terminate());
  using noise = new SocketServer((socket) => void socket.end("\x15\x03\x01\x00\x02\x02\x28"));
  const ORIGINS = [tls.origin, broken.origin, noise.origin, "http://127.0.0.1:1"];
  for (const [k, origin] of ORIGINS.entries()) {
    const store = ["--session-db", folder.at(`${k}.db`)];
    const args = ["invoke", "--json", ...store, ...ask(chatCompletions, origin), "Hi!"];
    const { code, stdout, stderr } = await runHoldfast(args, { env: ENV });
    expect({ origin, code, problem: JSON.parse(stdout) }).toMatchObject({
      ...{ origin, code: 1 },
      problem: { code: "provider-unreachable", hint: expect.any(String) },
    });
    expect(stderr).toMatch(/^holdfast: .*\n {2}hint: .*\n$/);
    expect(stdout + stderr).not.toContain(KEY);
  }
  expect(tls.requests).toBe(0);
});
