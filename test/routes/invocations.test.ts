import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { AppRig, HeldProvider } from "../fixtures/app-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { expectProblem } from "../fixtures/problem.ts";

const SAY = JSON.stringify({ input: "say hello" });

describe("an invocation", () => {
  test("answers with the result of its Turn, when the end of it is durable", async () => {
    await using rig = await AppRig.start();
    const response = await rig.post(SAY, { "content-type": "application/json" }, "my-id_1.~");
    expect({ status: response.status, type: response.headers.get("content-type") }).toEqual({
      status: 200,
      type: "application/json;charset=utf-8",
    });
    const count = z.number().int().nonnegative();
    const answer = z.strictObject({
      invocationId: z.literal("my-id_1.~"),
      sessionId: z.literal("default"),
      turn: z.literal(1),
      steps: z.literal(1),
      reason: z.strictObject({ kind: z.literal("completed") }),
      message: z.literal("hello"),
      usage: z.strictObject({
        inputTokens: count.positive(),
        outputTokens: count.positive(),
        cacheReadTokens: count,
        cacheWriteTokens: count,
        reasoningTokens: count,
      }),
    });
    answer.parse(await response.json());
    expect(rig.log.at(rig.log.length - 1).type).toBe("turn/end");
  });

  test("is not answered before the end of its Turn is durable", async () => {
    await using rig = await AppRig.start();
    const hold = rig.faults.holdOnce(ofType("turn/end"));
    let answered = false;
    const answer = rig.client.invoke("say hello").then((value) => {
      answered = true;
      return value;
    });
    await hold.reached;
    // A whole exchange on the same server: time enough for an answer that does not wait.
    await rig.client.read();
    expect(answered).toBe(false);
    hold.release();
    expect((await answer).status).toBe(200);
  });

  test("runs on the route that it names", async () => {
    await using rig = await AppRig.start();
    const body = JSON.stringify({ input: "say hello", route: { provider: "demo", model: "demo" } });
    expect((await rig.post(body)).status).toBe(200);
  });

  test.each([
    ["another model", { provider: "demo", model: "demo-2" }],
    ["another provider", { provider: "oracle", model: "demo" }],
    ["a name in other letters", { provider: "Demo", model: "demo" }],
  ])("for %s is refused: there is no silent fallback", async (_, route) => {
    await using rig = await AppRig.start();
    const response = await rig.post(JSON.stringify({ input: "say hello", route }));
    const problem = await expectProblem(response, 503, "no-route");
    expect(problem.detail).toContain("demo/demo");
    expect(rig.log.length).toBe(0);
  });

  test("waits for the ones that came before it", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const first = rig.client.invoke("say one", "a");
    await provider.reached;
    const { answer: second } = await queued(rig, "b", "say two");
    const { answer: third } = await queued(rig, "c", "say three");
    provider.release();
    const answers = await Promise.all([first, second, third]);
    expect(answers.map(({ body }) => `${body.turn} ${body.message}`)).toEqual(["1 one", "2 two", "3 three"]);
  });

  test("of an id that is queued or running is refused, and of one that has its answer runs again", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const running = rig.client.invoke("say one", "a");
    await provider.reached;
    await expectProblem(await rig.post(SAY), 409, "invocation-duplicate");
    const { answer: waiting } = await queued(rig, "b", "say two");
    await expectProblem(
      await rig.post(SAY, { "content-type": "application/json" }, "b"),
      409,
      "invocation-duplicate",
    );
    provider.release();
    expect((await running).body).toMatchObject({ turn: 1, message: "one" });
    expect((await waiting).body).toMatchObject({ turn: 2, message: "two" });
    expect((await rig.client.invoke("say three", "a")).body).toMatchObject({ turn: 3, message: "three" });
  });

  test("is refused when too many wait, and taken again afterwards", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider, capacity: 1 });
    const running = rig.client.invoke("say one", "a");
    await provider.reached;
    const { answer: waiting } = await queued(rig, "b", "say two");
    const response = await rig.post(SAY, { "content-type": "application/json" }, "c");
    await expectProblem(response, 503, "queue-full");
    provider.release();
    await Promise.all([running, waiting]);
    expect((await rig.client.invoke("say three", "c")).body).toMatchObject({ turn: 3 });
  });

  test("is not cancelled by a client that goes away", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const client = new AbortController();
    const left = rig.fetch("/api/v1/agent/invocations/a", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: SAY,
      signal: client.signal,
    });
    await provider.reached;
    client.abort();
    await expect(left).rejects.toThrow();
    // The server has noticed by the time that it takes another exchange.
    await rig.client.read();
    provider.release();
    const end = await awaitEvent(rig.log, ofType("turn/end"));
    expect(end.data).toEqual({ turn: 1, reason: { kind: "completed" } });
    expect((await rig.client.read()).transcript.at(-1)).toMatchObject({ kind: "assistant", text: "hello" });
    expect(rig.reports).toEqual([]);
  });
});

describe("cancelling", () => {
  test("a running invocation ends its Turn as aborted, and its client is told", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const running = rig.post(SAY);
    await provider.reached;
    const response = await rig.fetch("/api/v1/agent/invocations/a", { method: "DELETE" });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ invocationId: "a" });
    await expectProblem(await running, 409, "invocation-cancelled");
    expect(rig.log.at(rig.log.length - 1).data).toEqual({
      turn: 1,
      reason: { kind: "aborted", reason: { kind: "user" } },
    });
  });

  test("a queued invocation leaves no trace", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const running = rig.client.invoke("say one", "a");
    await provider.reached;
    const { answer: waiting } = await queued(rig, "b", "say never");
    expect((await rig.client.cancel("b")).status).toBe(202);
    expect(await waiting).toMatchObject({ status: 409, body: { code: "invocation-cancelled" } });
    provider.release();
    await running;
    const { events, text } = await rig.client.read();
    expect(events.filter(({ type }) => type === "turn/start")).toHaveLength(1);
    expect(text).not.toContain("never");
  });

  test("an invocation that was never sent, or has its answer, is not found", async () => {
    await using rig = await AppRig.start();
    await rig.client.invoke("say hello", "done");
    for (const id of ["done", "never"]) {
      const response = await rig.fetch(`/api/v1/agent/invocations/${id}`, { method: "DELETE" });
      await expectProblem(response, 404, "invocation-unknown");
    }
  });
});

/** Sends an invocation while another one runs, and waits until the server has taken it. */
async function queued(rig: AppRig, id: string, input: string) {
  // One of the two is refused as a duplicate. That one is told at once; the other one then waits in the queue.
  const both = [rig.client.invoke(input, id), rig.client.invoke(input, id)];
  const refused = await Promise.race(both.map(async (answer, k) => ({ k, status: (await answer).status })));
  expect(refused.status).toBe(409);
  const [other] = both.filter((_, k) => k !== refused.k);
  if (other === undefined) throw new Error("both were refused");
  // In an object: a promise that is returned as it is would be awaited.
  return { answer: other };
}
