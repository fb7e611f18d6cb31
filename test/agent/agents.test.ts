import { describe, expect, test } from "bun:test";
import { AlreadyExistsError, NotFoundError, SessionOpenError } from "../../src/store/errors.ts";
import { AgentRig, ROUTE } from "../fixtures/agent-rig.ts";
import { textReply } from "../fixtures/provider-server.ts";

const SIGNAL = new AbortController().signal;

describe("agents.create", () => {
  test("makes a header, and stores nothing before the first event", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("hello")] });
    await using agent = await rig.agents.create({ sessionId: "new", cwd: "/work" });
    expect(agent.session.header).toEqual({
      version: 0,
      id: "new",
      createdAt: expect.any(Number),
      cwd: "/work",
      delegationDepth: 0,
    });
    expect((await rig.store.list()).items).toEqual([]);
    await agent.run("hi", rig.provider, ROUTE, SIGNAL);
    expect((await rig.store.list()).items.map(({ header }) => header)).toEqual([agent.session.header]);
  });

  test.each(["open and empty", "open", "stored"])(
    "an id that is %s is refused, and its session is left alone",
    async (state) => {
      await using rig = await AgentRig.open({ replies: [textReply("hello")] });
      if (state !== "open and empty") await rig.run("hi");
      const before = await rig.texts();
      if (state === "stored") await rig.agent[Symbol.asyncDispose]();
      await expect(rig.agents.create({ sessionId: "s" })).rejects.toBeInstanceOf(AlreadyExistsError);
      expect(await rig.texts()).toEqual(before);
    },
  );

  test("an id that was registered and given back without an event is free again", async () => {
    await using rig = await AgentRig.open();
    const agent = await rig.agents.create({ sessionId: "new" });
    await agent[Symbol.asyncDispose]();
    await using again = await rig.agents.create({ sessionId: "new" });
    expect(again.session.log.length).toBe(0);
  });
});

describe("agents.resume", () => {
  test("goes on with a stored session", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("one"), textReply("two")] });
    await rig.run("first");
    const before = [...rig.agent.session.log.texts()];
    await rig.restart();
    expect([...rig.agent.session.log.texts()]).toEqual(before);
    expect(await rig.run("second")).toMatchObject({ turn: 2, message: "two" });
  });

  test("a session that is not there, or was never written to, is not found", async () => {
    await using rig = await AgentRig.open();
    await expect(rig.agents.resume({ resumeSessionId: "none" })).rejects.toBeInstanceOf(NotFoundError);
    await rig.agent[Symbol.asyncDispose]();
    await expect(rig.agents.resume({ resumeSessionId: "s" })).rejects.toBeInstanceOf(NotFoundError);
  });

  test("a session that is open is refused, and stays usable", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("one"), textReply("two")] });
    await rig.run("first");
    await expect(rig.agents.resume({ resumeSessionId: "s" })).rejects.toBeInstanceOf(SessionOpenError);
    expect(await rig.run("second")).toMatchObject({ turn: 2 });
  });

  test("an agent that was closed takes no more input, and another one goes on", async () => {
    await using rig = await AgentRig.open({ replies: [textReply("one"), textReply("two")] });
    await rig.run("first");
    await rig.agent[Symbol.asyncDispose]();
    await expect(rig.run("lost")).rejects.toMatchObject({ code: "closed" });
    await using again = await rig.agents.resume({ resumeSessionId: "s" });
    expect(await again.run("second", rig.provider, ROUTE, SIGNAL)).toMatchObject({ turn: 2, message: "two" });
    expect([...again.session.log.texts()].join()).not.toContain("lost");
  });

  test("two agents of one store do not get into each other's way", async () => {
    await using rig = await AgentRig.open({ replies: Array.from({ length: 6 }, () => textReply("x")) });
    await using other = await rig.agents.create({ sessionId: "other" });
    for (const n of [1, 2, 3]) {
      const both = [rig.agent, other].map((agent) => agent.run(`input ${n}`, rig.provider, ROUTE, SIGNAL));
      expect((await Promise.all(both)).map(({ turn }) => turn)).toEqual([n, n]);
    }
    for (const { session } of [rig.agent, other]) {
      expect([...session.log].map(({ seq }) => seq)).toEqual(
        Array.from({ length: session.log.length }, (_, k) => k),
      );
      expect([...session.log].filter(({ type }) => type === "turn/end")).toHaveLength(3);
    }
  });
});
