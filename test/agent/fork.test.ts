import { describe, expect, test } from "bun:test";
import type { Agent } from "../../src/agent/agent.ts";
import { ForkBoundaryError } from "../../src/agent/errors.ts";
import { isEvent } from "../../src/session/events.ts";
import { serialiseHeader } from "../../src/session/header.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { AlreadyExistsError, NotFoundError, StorageFullError } from "../../src/store/errors.ts";
import { AgentRig, type AgentRigOptions, ROUTE } from "../fixtures/agent-rig.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { always, toolThenText } from "../fixtures/model-replies.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { echo, StubbornTool } from "../fixtures/test-tools.ts";

const SIGNAL = new AbortController().signal;

/** A session of this many closed Turns, each with a tool call. */
async function grown(turns: number, options: AgentRigOptions = {}): Promise<AgentRig> {
  const replies = always(toolThenText("echo", '{"text":"x"}'));
  const rig = await AgentRig.open({ tools: [echo], replies, ...options });
  for (let turn = 1; turn <= turns; turn += 1) await rig.run(`input ${turn}`);
  return rig;
}

function boundaries({ session }: Agent): number[] {
  return [...session.log].filter((event) => isEvent(event, "turn/end")).map(({ seq }) => seq);
}

function texts({ session }: Agent): string[] {
  return [...session.log.texts()];
}

async function ids(rig: AgentRig): Promise<string[]> {
  return (await rig.store.list()).items.map(({ id }) => id).sort();
}

describe("where a fork is cut", () => {
  test("at the end of the last closed Turn, when nothing else is said", async () => {
    await using rig = await grown(2);
    const parent = texts(rig.agent);
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f" });
    expect(texts(fork).slice(0, -1)).toEqual(parent);
    const end = fork.session.log.at(parent.length);
    expect(end).toMatchObject({ type: "session/end-seed", data: {}, time: rig.events.at(-1)?.time });
    expect(fork.session.header).toEqual({
      version: 0,
      id: "f",
      createdAt: expect.any(Number),
      parentSession: "s",
      seedLength: parent.length,
      delegationDepth: 0,
    });
  });

  test("at the boundary that is named", async () => {
    await using rig = await grown(3);
    const [first = -1] = boundaries(rig.agent);
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f", boundary: first });
    expect(fork.session.header.seedLength).toBe(first + 1);
    expect(texts(fork).slice(0, -1)).toEqual(texts(rig.agent).slice(0, first + 1));
  });

  test("behind a title that was given since, before the conversation went on", async () => {
    await using rig = await grown(1);
    const { log } = rig.agent.session;
    const closed = log.length;
    const title = { type: "session/title", data: { title: "Milk" } } as const;
    // As a fork that was renamed has them.
    for (const draft of [{ type: "session/end-seed", data: {} } as const, title]) await log.append(draft);
    const parent = texts(rig.agent);
    await log.append({ type: "turn/start", data: { turn: 2 } });
    await log.append(title);
    expect(await rig.agents.storeFork({ sessionId: "s", newSessionId: "f" })).toMatchObject({
      header: { seedLength: closed + 2 },
      boundary: closed - 1,
    });
    await using fork = await rig.agents.resume({ resumeSessionId: "f" });
    expect(texts(fork).slice(0, -1)).toEqual(parent);
    const boundary = closed - 1;
    const named = await rig.agents.storeFork({ sessionId: "s", newSessionId: "g", boundary });
    expect(named).toMatchObject({ header: { seedLength: closed }, boundary });
  });

  test("before a Turn that is still running", async () => {
    const stubborn = new StubbornTool("echo");
    await using rig = await AgentRig.open({
      tools: [stubborn.tool],
      replies: [textReply("one"), ...always(toolThenText("echo"))],
    });
    await rig.run("first");
    const closed = texts(rig.agent);
    const running = rig.run("second");
    await stubborn.reached;
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f" });
    expect(texts(fork).slice(0, -1)).toEqual(closed);
    stubborn.release();
    expect(await running).toMatchObject({ turn: 2, reason: { kind: "completed" } });
  });

  test.each([
    ["inside a Turn", (last: number) => last - 1],
    ["at the first event", () => 0],
    ["past the end", (last: number) => last + 1],
    ["before the beginning", () => -1],
    ["between two seqs", (last: number) => last - 0.5],
    ["at no number", () => Number.NaN],
  ])("not %s", async (_, place) => {
    await using rig = await grown(1);
    const boundary = place(rig.events.length - 1);
    const fork = rig.agents.fork({ sessionId: "s", newSessionId: "f", boundary });
    await expect(fork).rejects.toBeInstanceOf(ForkBoundaryError);
    await expect(fork).rejects.toMatchObject({ code: "fork-boundary" });
    expect(await ids(rig)).toEqual(["s"]);
    await using free = await rig.agents.create({ sessionId: "f" });
    expect(free.session.log.length).toBe(0);
  });

  test("not without a closed Turn: what recovery would add does not count before it is stored", async () => {
    await using rig = await grown(0);
    rig.faults.outage(new StorageFullError({}));
    const lost = rig.run("lost");
    await expect(lost).rejects.toMatchObject({ code: "storage-full" });
    rig.faults.outage();
    await rig.agent.session.log.append({ type: "turn/start", data: { turn: 1 } });
    await expect(rig.agents.fork({ sessionId: "s", newSessionId: "f" })).rejects.toBeInstanceOf(
      ForkBoundaryError,
    );
    await rig.agent[Symbol.asyncDispose]();
    await expect(rig.agents.fork({ sessionId: "s", newSessionId: "f" })).rejects.toBeInstanceOf(
      ForkBoundaryError,
    );
  });
});

describe("what a fork is", () => {
  test.each(["open", "closed"])("a parent that is %s is left alone, byte for byte", async (state) => {
    await using rig = await grown(2);
    const before = await rig.texts();
    if (state === "closed") await rig.agent[Symbol.asyncDispose]();
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f" });
    await fork.run("on the fork", rig.provider, ROUTE, SIGNAL);
    expect(await rig.texts()).toEqual(before);
  });

  test("both go on by themselves, with Turn numbers of their own", async () => {
    await using rig = await grown(2);
    const [first = -1] = boundaries(rig.agent);
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f", boundary: first });
    expect(await fork.run("fork two", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 2 });
    expect(await rig.run("parent three")).toMatchObject({ turn: 3 });
    expect(await fork.run("fork three", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 3 });
    const history = validHistory(rig.server.requests.at(-1)?.body ?? "");
    expect(history.flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual([
      "input 1",
      "fork two",
      "fork three",
    ]);
  });

  test("the same envelope is not written again; another one is written as resume", async () => {
    await using rig = await grown(1);
    await using same = await rig.agents.fork({ sessionId: "s", newSessionId: "same" });
    await same.run("on", rig.provider, ROUTE, SIGNAL);
    await using other = await rig.agents.fork({ sessionId: "s", newSessionId: "other" });
    await other.run("on", rig.provider, { ...ROUTE, model: "other-model" }, SIGNAL);
    const reasons = ({ session }: Agent) =>
      [...session.log].flatMap((event) => (isEvent(event, "request/header") ? [event.data.reason] : []));
    expect(reasons(same)).toEqual(["initial"]);
    expect(reasons(other)).toEqual(["initial", "resume"]);
  });

  test("it is stored at once, survives a restart, and can be forked again", async () => {
    await using rig = await grown(1);
    const fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f" });
    const stored = texts(fork);
    await rig.restart();
    await using again = await rig.agents.resume({ resumeSessionId: "f" });
    expect(texts(again)).toEqual(stored);
    await again.run("on the fork", rig.provider, ROUTE, SIGNAL);
    await using second = await rig.agents.fork({ sessionId: "f", newSessionId: "g" });
    expect(texts(second).slice(0, -1)).toEqual(texts(again));
    expect(second.session.header).toMatchObject({ parentSession: "f", seedLength: again.session.log.length });
    expect(await second.run("on", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 3 });
  });

  test("texts of another writer are taken over as they are: spacing, key order, long numbers, packed runs", async () => {
    await using rig = await grown(0);
    const foreign = [
      '{"seq":0,"type":"turn/start", "data":{"turn":1},"time":5}',
      '{"type":"session/title","seq":1,"time":6,"data":{"n":1234567890123456789,"t":"\\u0041\\ud83e\\udd80\\ud800"}}',
      '{"type":"text-chunks","seq0":2,"time0":7,"data":{"turn":1,"step":1,"index":0,"dt":[1,-2],"texts":["a","b","c"]}}',
      '{"type":"turn/end","seq":5,"time":4,"data":{"turn":1,"reason":{"kind":"completed"},"extra":null}}',
    ];
    const header = serialiseHeader({
      version: 0,
      id: "p",
      createdAt: 1,
      agentPreset: "coder",
      cwd: "/p",
      origin: "x",
    });
    const records = foreign.map((text) => decodeRecord(text, {}).record);
    await rig.faults.inner.appendBatch([{ id: "p", header, expectedSeq: 0, records }]);
    await using fork = await rig.agents.fork({ sessionId: "p", newSessionId: "f" });
    const parent = await rig.store.inspect("p");
    expect(texts(fork).slice(0, -1)).toEqual([...parent.log.texts()]);
    expect(texts(fork)[1]).toBe(foreign[1] ?? "");
    expect(fork.session.header).toMatchObject({ agentPreset: "coder", cwd: "/p", seedLength: 6 });
  });
});

describe("a fork that fails", () => {
  test("for want of a parent", async () => {
    await using rig = await grown(0);
    for (const sessionId of ["none", "s"]) {
      await expect(rig.agents.fork({ sessionId, newSessionId: "f" })).rejects.toBeInstanceOf(NotFoundError);
    }
    expect(await ids(rig)).toEqual([]);
  });

  test("over an event of an unknown type, which keeps a session from being resumed too; before it, it works", async () => {
    await using rig = await grown(0);
    const foreign = [
      '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}',
      '{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}',
      '{"type":"future/event","seq":2,"time":1,"data":{}}',
      '{"type":"turn/start","seq":3,"time":1,"data":{"turn":2}}',
      '{"type":"turn/end","seq":4,"time":1,"data":{"turn":2,"reason":{"kind":"completed"}}}',
    ];
    const header = serialiseHeader({ version: 0, id: "p", createdAt: 1 });
    const records = foreign.map((text) => decodeRecord(text, {}).record);
    await rig.faults.inner.appendBatch([{ id: "p", header, expectedSeq: 0, records }]);
    const fork = rig.agents.fork({ sessionId: "p", newSessionId: "f" });
    await expect(fork).rejects.toMatchObject({ code: "unsupported-format", place: { seq: 2 } });
    expect(await ids(rig)).toEqual(["p"]);
    await using before = await rig.agents.fork({ sessionId: "p", newSessionId: "f", boundary: 1 });
    expect(await before.run("on", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 2 });
  });

  test.each(["s", "other"])("onto the taken id %s changes neither session", async (newSessionId) => {
    await using rig = await grown(1);
    await using other = await rig.agents.create({ sessionId: "other" });
    await other.run("mine", rig.provider, ROUTE, SIGNAL);
    const before = [texts(rig.agent), texts(other)];
    await expect(rig.agents.fork({ sessionId: "s", newSessionId })).rejects.toBeInstanceOf(
      AlreadyExistsError,
    );
    expect([texts(rig.agent), texts(other)]).toEqual(before);
  });

  test("for want of space leaves nothing behind, and works when there is space", async () => {
    await using rig = await grown(1);
    rig.faults.failOnce(ofType("session/end-seed"), new StorageFullError({}));
    await expect(rig.agents.fork({ sessionId: "s", newSessionId: "f" })).rejects.toMatchObject({
      code: "storage-full",
    });
    expect(await ids(rig)).toEqual(["s"]);
    await using fork = await rig.agents.fork({ sessionId: "s", newSessionId: "f" });
    expect(await fork.run("on", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 2 });
    expect(await rig.run("on")).toMatchObject({ turn: 2 });
  });

  test("a crash while it is being stored leaves the parent and no half of it", async () => {
    await using rig = await grown(1);
    const hold = rig.faults.holdOnce(ofType("session/end-seed"));
    const fork = rig.agents.fork({ sessionId: "s", newSessionId: "f" }).catch(() => undefined);
    await hold.reached;
    await rig.crash();
    hold.release();
    await fork;
    expect(await ids(rig)).toEqual(["s"]);
    expect(await rig.run("on")).toMatchObject({ turn: 2 });
  });
});
