import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  delta,
  heldReply,
  ProviderServer,
  sseReply,
  statusReply,
  textReply,
  toolCallReply,
} from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

describe("a time limit", () => {
  test.each([
    ["for the beginning of an answer", "--connect-timeout", heldReply(forever(), textReply("late"))],
    ["for silence within an answer", "--idle-timeout", sseReply([delta({ content: "Well" }), forever()])],
    ["for a whole answer", "--request-timeout", sseReply([delta({ content: "Well" }), forever()])],
  ])("%s ends an answer that does not come", async (_, flag, reply) => {
    await using server = new ProviderServer(reply);
    await using host = await HostProcess.start({ args: [...ask(server), "--retries", "0", flag, "0.2"] });
    const { status, body } = await host.client.invoke("hello");
    expect({ status, code: body.code }).toEqual({ status: 504, code: "provider-timeout" });
  });

  test("for tools ends a call, and the Turn goes on", async () => {
    await using folder = await TempFolder.create();
    for (let file = 0; file < 500; file += 1) await writeFile(folder.at(`${file}.txt`), "x\n".repeat(5_000));
    const call = { id: "a", name: "search_text", arguments: '{"text":"nowhere"}' };
    await using server = new ProviderServer(toolCallReply(call), textReply("I gave up"));
    const args = [...ask(server), "--workspace", folder.path, "--tool-timeout", "0.001"];
    await using host = await HostProcess.start({ args });
    expect((await host.client.invoke("look")).body).toMatchObject({ message: "I gave up" });
    expect((await host.client.read()).text).toContain('"code":"TOOL_TIMEOUT"');
  });

  test("for shutting down ends a client that does not read its answer", async () => {
    await using server = new ProviderServer(textReply("x".repeat(4_000_000)));
    await using host = await HostProcess.start({ args: [...ask(server), "--drain-timeout", "0.2"] });
    await host.client.invoke("hello");
    using reader = await readSlowly(host.url, "/api/v1/sessions/default");
    await reader.begun;
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  });
});

test("a provider that usually wants a key is asked without one, which stderr says", async () => {
  const args = ["--provider", "anthropic", "--model", "m"];
  await using bare = await HostProcess.start({ args });
  await bare.stderr.waitFor(/ANTHROPIC_API_KEY is not set/);
  await using keyed = await HostProcess.start({ args, env: { ANTHROPIC_API_KEY: "sk-ant-example" } });
  await keyed.stop("SIGTERM");
  expect(keyed.stderr.text).not.toContain("ANTHROPIC_API_KEY");
});

describe("a failed model request", () => {
  const busy = statusReply(503, "busy", { "retry-after": "0" });

  test("is made again, and the session tells of each attempt", async () => {
    await using server = new ProviderServer(busy, busy, textReply("hello"));
    await using host = await HostProcess.start({ args: ask(server) });
    expect(await host.client.invoke("hi")).toMatchObject({ status: 200, body: { message: "hello" } });
    const { events } = await host.client.read();
    expect(events.filter(({ type }) => type === "llm/retry")).toMatchObject([
      { data: { attempt: 1, error: { code: "provider-unavailable", status: 503 } } },
      { data: { attempt: 2, error: { code: "provider-unavailable", status: 503 } } },
    ]);
  });

  test("is made once with --retries 0", async () => {
    await using server = new ProviderServer(busy, textReply("hello"));
    await using host = await HostProcess.start({ args: [...ask(server), "--retries", "0"] });
    expect(await host.client.invoke("hi")).toMatchObject({
      status: 502,
      body: { code: "provider-unavailable" },
    });
    expect(server.requests).toHaveLength(1);
  });
});

test("settings that a restart changes are recorded with its first request, and only then", async () => {
  await using lab = await HostLab.create(...["a", "b", "c", "d", "e"].map((text) => textReply(text)));
  const file = lab.folder.at("holdfast.json");
  const starts = [
    ["--stop", "END", "--stop", "\n\n", "--temperature", "0"],
    ["--stop", "END", "--stop", "\n\n", "--temperature", "0"],
    ["--config", file, "--temperature", "1"],
  ];
  await writeFile(file, JSON.stringify({ stop: ["END"], temperature: 2, extraBody: { seed: 7 } }));
  for (const args of starts) {
    const host = await lab.start({ args });
    await host.client.invoke("hi");
    if (args[0] === "--config") await host.client.invoke("hi");
    await host.stop("SIGTERM");
  }
  const { stdout } = await runHoldfast(["sessions", "show", "default", lab.store, "--events"]);
  const headers = stdout.split("\n").filter((line) => line.includes('"request/header"'));
  const config = { provider: "openai-compatible", model: "test-model" };
  expect(headers.map((line) => JSON.parse(line).data)).toMatchObject([
    { reason: "initial", header: { config: { ...config, stop: ["END", "\n\n"], temperature: 0 } } },
    {
      reason: "resume",
      header: { config: { ...config, stop: ["END"], temperature: 1, extraBody: { seed: 7 } } },
    },
  ]);
  expect(lab.server.requests.map((request) => request.json())).toMatchObject([
    { stop: ["END", "\n\n"], temperature: 0 },
    { stop: ["END", "\n\n"], temperature: 0 },
    { stop: ["END"], temperature: 1, seed: 7 },
    { stop: ["END"], temperature: 1, seed: 7 },
  ]);
});

function ask(server: ProviderServer): string[] {
  return ["--provider", "openai-compatible", "--model", "m", "--base-url", server.baseUrl];
}
