import { describe, expect, test } from "bun:test";
import { StorageFullError } from "../../src/store/errors.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { broken, echo } from "../fixtures/test-tools.ts";

const OTHER = { provider: "openai-compatible", model: "other-model" };

function reasons(rig: AgentRig): string[] {
  return rig.all("request/header").map(({ data }) => data.reason);
}

function answers(count: number) {
  return Array.from({ length: count }, (_, k) => textReply(`answer ${k}`));
}

describe("request/header", () => {
  test("the first request writes it as initial; the same envelope is not written again", async () => {
    await using rig = await AgentRig.open({ tools: [echo], system: "Be brief.", replies: answers(3) });
    for (const input of ["a", "b", "c"]) await rig.run(input);
    expect(reasons(rig)).toEqual(["initial"]);
    expect(rig.all("request/header")[0]?.data.header).toMatchObject({
      config: { provider: "openai-compatible", model: "test-model" },
      system: "Be brief.",
      tools: [{ name: "echo" }],
    });
  });

  test("another model is a change, and so is the way back", async () => {
    await using rig = await AgentRig.open({ replies: answers(4) });
    await rig.run("a");
    await rig.run("b", { route: OTHER });
    await rig.run("c", { route: OTHER });
    await rig.run("d");
    expect(reasons(rig)).toEqual(["initial", "change", "change"]);
    expect(rig.server.requests.map((request) => JSON.parse(request.body).model)).toEqual([
      "test-model",
      "other-model",
      "other-model",
      "test-model",
    ]);
  });

  test("a restart with the same envelope writes none", async () => {
    await using rig = await AgentRig.open({ tools: [echo], system: "Be brief.", replies: answers(2) });
    await rig.run("a");
    await rig.restart();
    await rig.run("b");
    expect(reasons(rig)).toEqual(["initial"]);
  });

  test.each([
    ["system prompt", { system: "Be kind." }],
    ["set of tools", { tools: [echo, broken] }],
  ])("a restart with another %s writes it as resume, once", async (_, changed) => {
    await using rig = await AgentRig.open({ tools: [echo], system: "Be brief.", replies: answers(4) });
    await rig.run("a");
    await rig.restart(changed);
    await rig.run("b");
    await rig.run("c");
    await rig.run("d", { route: OTHER });
    expect(reasons(rig)).toEqual(["initial", "resume", "change"]);
  });

  test("a change in a later Turn after a restart is a change", async () => {
    await using rig = await AgentRig.open({ replies: answers(3) });
    await rig.run("a");
    await rig.restart();
    await rig.run("b");
    await rig.run("c", { route: OTHER });
    expect(reasons(rig)).toEqual(["initial", "change"]);
  });

  test("a resume that could not be saved is still a resume in the next Turn", async () => {
    await using rig = await AgentRig.open({ replies: answers(2) });
    await rig.run("a");
    await rig.restart({ system: "Be kind." });
    rig.faults.failOnce(ofType("request/header"), new StorageFullError({}));
    await expect(rig.run("b")).rejects.toMatchObject({ code: "storage-full" });
    await rig.run("c");
    expect(reasons(rig)).toEqual(["initial", "resume"]);
  });

  test("the order in which tools were registered makes no difference", async () => {
    await using rig = await AgentRig.open({ tools: [echo, broken], replies: answers(2) });
    await rig.run("a");
    await rig.restart({ tools: [broken, echo] });
    await rig.run("b");
    expect(reasons(rig)).toEqual(["initial"]);
  });
});
