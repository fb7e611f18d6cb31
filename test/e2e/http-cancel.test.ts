import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { CrashHostOptions } from "../fixtures/crash-host.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { expectProblem } from "../fixtures/problem.ts";
import { delta, finish, sseReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";
import { SseClient } from "../fixtures/sse-client.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function post(url: string, id: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}/api/v1/agent/invocations/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: id }),
    ...init,
  });
}

test("DELETE ends a tool that ignores its signal: its call has a result, and the next Turn works", async () => {
  const calls = ["a", "b"].map((id) => ({ id, name: "endless", arguments: JSON.stringify({ text: id }) }));
  await using lab = await HostLab.create(toolCallReply(...calls), textReply("next"));
  const options: CrashHostOptions = {
    sessionDb: lab.store,
    workspace: lab.folder.at("workspace"),
    baseUrl: lab.server.baseUrl,
    runs: lab.folder.at("runs"),
  };
  const script = join(import.meta.dir, "..", "fixtures", "crash-host.ts");
  await using host = await HostProcess.start({
    command: [process.execPath, script, JSON.stringify(options)],
  });
  const running = post(host.url, "running");
  await host.stdout.waitFor(/held/);
  const queued = post(host.url, "queued");
  expect((await host.client.cancel("running")).status).toBe(202);
  await expectProblem(await running, 409, "invocation-cancelled");
  expect(await (await queued).json()).toMatchObject({ turn: 2, message: "next" });

  const { events } = await host.client.read();
  const first = events.slice(0, events.findIndex(({ type }) => type === "turn/end") + 1);
  expect(first.filter(({ type }) => type === "tool/result").map(({ data }) => data)).toMatchObject([
    { message: { content: [{ toolCallId: "a" }] }, error: { code: "TOOL_ABORTED" } },
    { message: { content: [{ toolCallId: "b" }] }, error: {} },
  ]);
  expect(first.at(-1)).toMatchObject({ data: { reason: { kind: "aborted", reason: { kind: "user" } } } });
});

test("clients that go away, and one that reads nothing, neither cancel a Turn nor hold it up", async () => {
  const gate = Promise.withResolvers<void>();
  const pieces = Array.from({ length: 100 }, () => delta({ content: "x".repeat(20_000) }));
  await using lab = await HostLab.create(
    sseReply([delta({ content: "begun" }), gate.promise, ...pieces, finish("stop")]),
    textReply("two"),
    textReply("three"),
  );
  const host = await lab.start();
  const leave = new AbortController();
  const running = post(host.url, "one", { signal: leave.signal }).catch(() => "gone");
  await lab.server.request(0);
  const queued = await SseClient.invoke(host.url, "two", "two");
  using reader = await readSlowly(host.url, "/api/v1/sessions/default/events", "text/event-stream");
  await reader.begun;
  leave.abort();
  queued.leave();
  expect(await running).toBe("gone");
  gate.resolve();
  expect((await host.client.invoke("three")).body).toMatchObject({ turn: 3, message: "three" });
  const { transcript } = await host.client.read();
  expect(transcript.map(({ kind, turn }) => [kind, turn])).toEqual(
    [1, 2, 3].flatMap((turn) => [
      ["user", turn],
      ["assistant", turn],
    ]),
  );
});
