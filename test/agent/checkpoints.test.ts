import { describe, expect, test } from "bun:test";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { type EventMatch, ofType } from "../fixtures/event-faults.ts";
import { drained, state } from "../fixtures/held-sink.ts";
import { type Reply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { makeTool } from "../fixtures/test-tools.ts";

/*
 * Twice each rule: with the commit held, what depends on it has not happened; and when it happens, the event is on the
 * disk already.
 */

/** Some rounds of the event loop: enough for a request to leave, if it were not held back. */
async function rounds(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await drained();
}

async function typesOnDisk(rig: AgentRig): Promise<string[]> {
  const { disk } = await rig.texts();
  return disk.map((text) => String(JSON.parse(text).type));
}

/** A reply that notes what is on the disk when its request arrives. */
function noting(rig: () => AgentRig, notes: string[][], reply: Reply): Reply {
  return async (request) => {
    notes.push(await typesOnDisk(rig()));
    return reply(request);
  };
}

const CALL = toolCallReply({ id: "a", name: "look", arguments: "{}" });

describe("the request is durable before the model is called", () => {
  test.each<[string, EventMatch]>([
    ["turn/start", ofType("turn/start")],
    ["user/message", ofType("user/message")],
    ["step/start", ofType("step/start")],
    ["request/header", ofType("request/header")],
  ])("while %s is on its way to the disk, the provider hears nothing", async (_, match) => {
    await using rig = await AgentRig.open({ replies: [textReply("hello")] });
    const hold = rig.faults.holdOnce(match);
    const turn = rig.run("hi");
    await hold.reached;
    await rounds();
    expect(rig.server.requests).toHaveLength(0);
    hold.release();
    expect(await turn).toMatchObject({ message: "hello" });
    expect(rig.server.requests).toHaveLength(1);
  });

  test("when the request arrives, all that it stands for is on the disk", async () => {
    const notes: string[][] = [];
    await using rig: AgentRig = await AgentRig.open({
      replies: [noting(() => rig, notes, textReply("hello"))],
    });
    await rig.run("hi");
    expect(notes).toEqual([["turn/start", "user/message", "step/start", "request/header"]]);
  });
});

describe("a tool call is durable before the tool runs, and its result before the next request", () => {
  test("while tool/call is on its way to the disk, the tool has not begun", async () => {
    let runs = 0;
    const look = makeTool("look", async () => ({ text: String(++runs) }));
    await using rig = await AgentRig.open({ tools: [look], replies: [CALL, textReply("done")] });
    const hold = rig.faults.holdOnce(ofType("tool/call"));
    const turn = rig.run("hi");
    await hold.reached;
    await rounds();
    expect(runs).toBe(0);
    hold.release();
    await turn;
    expect(runs).toBe(1);
  });

  test.each<[string, EventMatch]>([
    ["tool/result", ofType("tool/result")],
    ["step/start", ofType("step/start", 2)],
  ])("while %s is on its way to the disk, there is no next request", async (_, match) => {
    const look = makeTool("look", async () => ({ text: "seen" }));
    await using rig = await AgentRig.open({ tools: [look], replies: [CALL, textReply("done")] });
    const hold = rig.faults.holdOnce(match);
    const turn = rig.run("hi");
    await hold.reached;
    await rounds();
    expect(rig.server.requests).toHaveLength(1);
    hold.release();
    await turn;
    expect(rig.server.requests).toHaveLength(2);
  });

  test("when the tool runs, and when the next request arrives, the disk is as far", async () => {
    const notes: string[][] = [];
    const look = makeTool("look", async () => {
      notes.push(await typesOnDisk(rig));
      return { text: "seen" };
    });
    await using rig: AgentRig = await AgentRig.open({
      tools: [look],
      replies: [CALL, noting(() => rig, notes, textReply("done"))],
    });
    await rig.run("hi");
    expect(notes[0]?.slice(-2)).toEqual(["assistant/message", "tool/call"]);
    expect(notes[1]?.slice(-4)).toEqual(["tool/call", "tool/result", "step/end", "step/start"]);
  });

  test("the second call of a Step waits for the result of the first to be durable", async () => {
    const notes: string[][] = [];
    const look = makeTool("look", async () => {
      notes.push(await typesOnDisk(rig));
      return { text: "seen" };
    });
    await using rig: AgentRig = await AgentRig.open({
      tools: [look],
      replies: [
        toolCallReply({ id: "a", name: "look", arguments: "{}" }, { id: "b", name: "look", arguments: "{}" }),
        textReply("done"),
      ],
    });
    await rig.run("hi");
    expect(notes[1]?.slice(-3)).toEqual(["tool/call", "tool/result", "tool/call"]);
  });
});

describe("the end of the Turn is durable before the invocation answers", () => {
  test.each<[string, EventMatch]>([
    ["assistant/message", ofType("assistant/message")],
    ["step/end", ofType("step/end")],
    ["turn/end", ofType("turn/end")],
  ])(
    "while %s is on its way to the disk, there is no answer, and nothing of it is visible",
    async (type, match) => {
      await using rig = await AgentRig.open({ replies: [textReply("hello")] });
      const hold = rig.faults.holdOnce(match);
      const turn = rig.run("hi");
      await hold.reached;
      await rounds();
      expect(await state(turn)).toBe("pending");
      expect(rig.types()).not.toContain(type);
      hold.release();
      await turn;
      expect((await typesOnDisk(rig)).at(-1)).toBe("turn/end");
    },
  );

  test("with a chunk window the same holds, and the deltas come along with the message", async () => {
    await using rig = await AgentRig.open({
      chunkWindowMs: 60_000,
      replies: [textReply("a", "b", "c", "d")],
    });
    await rig.run("hi");
    const { memory, disk } = await rig.texts();
    expect(disk).toEqual([...memory]);
    expect(rig.all("assistant/chunk").length).toBe(8);
    const withChunks = rig.faults.commits.filter((batches) =>
      JSON.stringify(batches).includes("text-chunks"),
    );
    expect(withChunks).toHaveLength(1);
  });
});
