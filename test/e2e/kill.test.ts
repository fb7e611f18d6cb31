import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { Bundle } from "../fixtures/bundle.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { hangingReply, killWhen, streamed } from "../fixtures/conversation.ts";
import type { CrashHostOptions } from "../fixtures/crash-host.ts";
import type { ReadSession, StoredEvent } from "../fixtures/host-client.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { heldReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

let crashHost: Bundle;
beforeAll(async () => {
  crashHost = await Bundle.of(join(import.meta.dir, "..", "fixtures", "crash-host.ts"));
});
afterAll(() => crashHost[Symbol.asyncDispose]());

const OPENING = ["turn/start", "user/message", "step/start", "request/header"];

/** A Host that stands still at a moment; see crash-host.ts. */
function startCrashHost(lab: HostLab, options: Pick<CrashHostOptions, "holdAt"> = {}): Promise<HostProcess> {
  const all: CrashHostOptions = {
    ...(lab.kind === "sqlite"
      ? { sessionDb: lab.store }
      : { sessionDir: lab.store, jsonlEncoding: lab.kind }),
    workspace: lab.folder.at("workspace"),
    baseUrl: lab.server.baseUrl,
    runs: lab.folder.at("runs"),
    ...options,
  };
  return HostProcess.start({ command: [process.execPath, crashHost.path, JSON.stringify(all)] });
}

/** One line for each time that a tool of the crashed Host ran. */
async function toolRuns(lab: HostLab): Promise<string[]> {
  const file = Bun.file(lab.folder.at("runs"));
  return (await file.exists()) ? (await file.text()).trim().split("\n") : [];
}

/** Calls of tools of the crash host; `id` is also what they are told. */
function calls(...names: ReadonlyArray<"quick" | "endless">) {
  return toolCallReply(
    ...names.map((name, k) => ({ id: `c${k + 1}`, name, arguments: JSON.stringify({ text: `c${k + 1}` }) })),
  );
}

function typesOf(events: readonly StoredEvent[]): string[] {
  const types = events.map(({ type }) => type);
  return types.filter((type, k) => type !== "assistant/chunk" || types[k - 1] !== type);
}

/**
 * Opens the store again with the real executable, which closes the Turn, and kills it. A second opening changes nothing:
 * it goes on with the conversation, with the tools of the crashed Host at hand, and none of them runs again.
 */
async function reopen(lab: HostLab): Promise<ReadSession> {
  const runs = await toolRuns(lab);
  const first = await lab.start();
  const closed = await first.client.read();
  await first.stop("SIGKILL");

  await using second = await startCrashHost(lab);
  expect((await second.client.read()).text).toBe(closed.text);
  lab.server.script(textReply("I go on."));
  expect((await second.client.invoke("Go on.")).body).toMatchObject({
    turn: 2,
    steps: 1,
    message: "I go on.",
  });
  expect(validHistory(lab.server.requests.at(-1)?.body ?? "").at(-1)).toEqual({
    role: "user",
    content: "Go on.",
  });
  expect(await toolRuns(lab)).toEqual(runs);
  return closed;
}

/** What every interrupted Turn has in common once it is closed. */
function expectClosed({ events, transcript, nextSeq }: ReadSession): void {
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: nextSeq }, (_, seq) => seq));
  expect(typesOf(events).slice(0, 4)).toEqual(OPENING);
  expect(events.slice(-2)).toMatchObject([
    { type: "step/end", data: { turn: 1, step: 1 } },
    { type: "turn/end", data: { turn: 1, reason: { kind: "interrupted" } } },
  ]);
  for (const type of ["turn/end", "step/end", "user/message"]) {
    expect(events.filter((event) => event.type === type)).toHaveLength(1);
  }
  expect(transcript.at(-1)).toMatchObject({ kind: "turn-end", turn: 1, reason: { kind: "interrupted" } });
}

/** Each tool result as `<call id> <error code, or its text>`. */
function resultsOf({ transcript }: ReadSession): string[] {
  const results = transcript.filter(({ kind }) => kind === "tool");
  return results.map(({ callId, error, text }) => {
    const code = typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
    return `${String(callId)} ${String(code ?? text)}`;
  });
}

describe.each(DURABLE_STORES)("a Host that is killed, its sessions in %s,", (kind) => {
  test("once the request is durable and the model has not answered: the input is kept, the Turn closed", async () => {
    await using lab = await HostLab.on(kind, heldReply(forever(), textReply("never")));
    const host = await lab.start();
    await killWhen(host, "Hello?", lab.server.request(0));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(typesOf(closed.events)).toEqual([...OPENING, "step/end", "turn/end"]);
    expect(closed.transcript[0]).toMatchObject({ kind: "user", text: "Hello?" });
  });

  test("in the middle of an answer: the deltas are kept and shown, and the model never said them", async () => {
    await using lab = await HostLab.on(kind, hangingReply("One, ", "two, ", "three"));
    const host = await lab.start();
    await killWhen(host, "Count!", streamed(host, "three"));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(typesOf(closed.events)).toEqual([...OPENING, "assistant/chunk", "step/end", "turn/end"]);
    const spoken = closed.events.map(({ data }) => JSON.stringify(data)).join();
    for (const piece of ["One, ", "two, ", "three"]) expect(spoken).toContain(`"text":"${piece}"`);
    const cutOff = { kind: "assistant", text: "One, two, three", interrupted: true };
    expect(closed.transcript).toMatchObject([{ kind: "user" }, cutOff, { kind: "turn-end" }]);
  });

  test("after the answer and before the end of the Turn: the answer stands", async () => {
    await using lab = await HostLab.on(kind, textReply("All ", "said."));
    await using host = await startCrashHost(lab, { holdAt: "assistant/message" });
    await killWhen(host, "Speak!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(closed.transcript.map(({ kind }) => kind)).toEqual(["user", "assistant", "turn-end"]);
    expect(closed.transcript[1]).toMatchObject({ text: "All said." });
  });

  test("after an answer with calls: none was started, and each says so", async () => {
    await using lab = await HostLab.on(kind, calls("quick", "endless"));
    await using host = await startCrashHost(lab, { holdAt: "assistant/message" });
    await killWhen(host, "Do it!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(resultsOf(closed)).toEqual(["c1 TOOL_NOT_STARTED", "c2 TOOL_NOT_STARTED"]);
    expect(await toolRuns(lab)).toEqual([]);
  });

  test("after a call was noted down and before the tool began: its outcome counts as unknown", async () => {
    await using lab = await HostLab.on(kind, calls("quick"));
    await using host = await startCrashHost(lab, { holdAt: "tool/call" });
    await killWhen(host, "Do it!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(resultsOf(closed)).toEqual(["c1 TOOL_OUTCOME_UNKNOWN"]);
    expect(await toolRuns(lab)).toEqual([]);
  });

  test("in a tool: its outcome is unknown, and it is not run again", async () => {
    await using lab = await HostLab.on(kind, calls("endless"));
    await using host = await startCrashHost(lab);
    await killWhen(host, "Do it!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(resultsOf(closed)).toEqual(["c1 TOOL_OUTCOME_UNKNOWN"]);
    expect(await toolRuns(lab)).toEqual(["endless c1"]);
    const call = closed.events.find(({ type }) => type === "tool/call");
    const result = closed.events.find(({ type }) => type === "tool/result");
    expect(result).toMatchObject({
      time: call?.time,
      sourceEventSeqs: [call?.seq],
      surfaceOp: "append",
      data: {
        error: { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" },
        message: {
          id: `interrupted-tool-result-c1-${result?.seq}`,
          content: [{ type: "tool-result", toolCallId: "c1", isError: true }],
        },
      },
    });
    expect(closed.events.slice(-3).map(({ time }) => time)).toEqual(Array(3).fill(call?.time));
  });

  test("in the second of three tools: one real result, one unknown, one not started", async () => {
    await using lab = await HostLab.on(kind, calls("quick", "endless", "quick"));
    await using host = await startCrashHost(lab);
    await killWhen(host, "Do it!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(resultsOf(closed)).toEqual(["c1 did c1", "c2 TOOL_OUTCOME_UNKNOWN", "c3 TOOL_NOT_STARTED"]);
    expect(await toolRuns(lab)).toEqual(["quick c1", "endless c2"]);
  });

  test("in the last of three tools: two real results and one unknown", async () => {
    await using lab = await HostLab.on(kind, calls("quick", "quick", "endless"));
    await using host = await startCrashHost(lab);
    await killWhen(host, "Do it!", host.stdout.waitFor(/^held$/m));
    const closed = await reopen(lab);
    expectClosed(closed);
    expect(resultsOf(closed)).toEqual(["c1 did c1", "c2 did c2", "c3 TOOL_OUTCOME_UNKNOWN"]);
    expect(await toolRuns(lab)).toEqual(["quick c1", "quick c2", "endless c3"]);
  });
});
