import { describe, expect, test } from "bun:test";
import { type HoldfastError, StorageFailedError, StorageFullError } from "../../src/store/errors.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { type EventMatch, ofType, textDelta } from "../fixtures/event-faults.ts";
import { type Answer, HostRig, type HostRigOptions } from "../fixtures/host-rig.ts";
import { always, toolThenText } from "../fixtures/model-replies.ts";
import { echo, makeTool } from "../fixtures/test-tools.ts";

const SECRET = "/home/somebody/secret.db";
const ERRORS = [
  ["storage-full", 507, () => new StorageFullError({ path: SECRET })],
  [
    "storage-failed",
    500,
    () => new StorageFailedError(`${SECRET}: disk I/O error`, { place: { path: SECRET } }),
  ],
] as const;

/** Each append of a Turn with one tool call and an answer. What follows the first loss has an open Turn to close. */
const POINTS: ReadonlyArray<readonly [string, EventMatch]> = [
  ["user/message", ofType("user/message")],
  ["the first step/start", ofType("step/start", 1)],
  ["request/header", ofType("request/header")],
  ["the pieces of a call", ofType("assistant/chunk", 1)],
  ["the message with the call", ofType("assistant/message", 1)],
  ["tool/call", ofType("tool/call")],
  ["tool/result", ofType("tool/result")],
  ["the first step/end", ofType("step/end", 1)],
  ["the second step/start", ofType("step/start", 2)],
  ["a delta of the answer", textDelta],
  ["the message with the answer", ofType("assistant/message", 2)],
  ["the second step/end", ofType("step/end", 2)],
  ["turn/end", ofType("turn/end")],
];

function start(options: HostRigOptions = {}): Promise<HostRig> {
  return HostRig.start({ tools: [echo], replies: always(toolThenText("echo", '{"text":"x"}')), ...options });
}

/** Memory and disk hold the same, and every request so far was a valid history. */
async function expectSound(rig: HostRig): Promise<void> {
  const { memory, disk } = await rig.texts();
  expect(memory).toEqual([...disk]);
  for (const { body } of rig.server.requests) validHistory(body);
}

function expectProblem({ status, contentType, body, text }: Answer, expected: number, code: string): void {
  expect({ status, contentType, code: body.code }).toEqual({
    status: expected,
    contentType: "application/problem+json",
    code,
  });
  expect(text).not.toContain("secret");
}

function reasons(rig: HostRig): string[] {
  return [...rig.host.agent.session.log].filter(ofType("turn/end")).map(({ data }) => JSON.stringify(data));
}

/** One commit fails, is told to the client and to the probe; then all goes on. */
async function expectRecovery(rig: HostRig, match: EventMatch, error: HoldfastError): Promise<void> {
  const status = error.code === "storage-full" ? 507 : 500;
  rig.faults.failOnce(match, error);
  const closing = rig.faults.holdOnce(ofType("turn/end"));
  const invocation = rig.invoke("first");
  await closing.reached;
  expectProblem(await rig.get("/readyz"), 503, error.code);
  expect((await rig.get("/healthz")).status).toBe(200);
  closing.release();
  expectProblem(await invocation, status, error.code);
  expect(rig.faults.pending).toBe(0);
  expect((await rig.get("/readyz")).status).toBe(200);
  expect(reasons(rig).map((reason) => JSON.parse(reason).reason.error.code)).toEqual([error.code]);
  await expectSound(rig);
  expect((await rig.readSession()).text.includes("secret")).toBe(false);

  const next = await rig.invoke("second");
  expect(next.body).toMatchObject({ turn: 2, steps: 2, message: "All done", reason: { kind: "completed" } });
  await expectSound(rig);
}

describe.each(ERRORS)("a commit that fails once as %s (%p)", (code, status, makeError) => {
  test.each(POINTS)("with %s: the Turn is closed in the log, and the next one works", async (_, match) => {
    await using rig = await start();
    await expectRecovery(rig, match, makeError());
  });

  test.each(POINTS)(
    "with %s on the storage thread, where more events share a commit: the same",
    async (_, match) => {
      await using rig = await start({ thread: "worker", config: { chunkWindowMs: 20 } });
      await expectRecovery(rig, match, makeError());
    },
  );

  test("with turn/start: nothing is left in the log, and readiness comes back with the next commit", async () => {
    await using rig = await start();
    rig.faults.failOnce(ofType("turn/start"), makeError());
    expectProblem(await rig.invoke("first"), status, code);
    expect(await rig.texts()).toEqual({ memory: [], disk: [] });
    expectProblem(await rig.get("/readyz"), 503, code);
    expect(rig.server.requests).toHaveLength(0);
    expect((await rig.invoke("second")).body).toMatchObject({ turn: 1, message: "All done" });
    expect((await rig.get("/readyz")).status).toBe(200);
    await expectSound(rig);
  });

  test("invocations that wait behind the one that failed run as if nothing had happened", async () => {
    await using rig = await start();
    rig.faults.failOnce(ofType("tool/result"), makeError());
    const closing = rig.faults.holdOnce(ofType("turn/end"));
    const first = rig.invoke("first");
    await closing.reached;
    const waiting = [rig.invoke("second"), rig.invoke("third")];
    closing.release();
    expectProblem(await first, status, code);
    expect((await Promise.all(waiting)).map(({ body }) => body.turn).sort()).toEqual([2, 3]);
    await expectSound(rig);
  });

  test("a store that fails for several invocations: each is told, reads go on, and then all is well again", async () => {
    await using rig = await start();
    await rig.invoke("before");
    const before = await rig.texts();
    rig.faults.outage(makeError());
    for (const input of ["first", "second", "third"]) {
      expectProblem(await rig.invoke(input), status, code);
      expectProblem(await rig.get("/readyz"), 503, code);
      expect((await rig.readSession()).status).toBe(200);
    }
    expect(await rig.texts()).toEqual(before);
    rig.faults.outage();
    expect((await rig.invoke("after")).body).toMatchObject({ turn: 2, message: "All done" });
    expect((await rig.get("/readyz")).status).toBe(200);
    await expectSound(rig);
  });

  test.each(["goes on", "is restarted"])(
    "a store that fails from the middle of a Turn on, and then %s",
    async (then) => {
      let runs = 0;
      const full = makeTool("full", async () => {
        runs += 1;
        rig.faults.outage(makeError());
        return { text: "this cannot be saved" };
      });
      await using rig: HostRig = await HostRig.start({
        tools: [full],
        replies: always(toolThenText("full")),
      });
      for (const input of ["first", "second", "third"]) expectProblem(await rig.invoke(input), status, code);
      expect(runs).toBe(1);
      expect(reasons(rig)).toEqual([]);
      if (then === "is restarted") await rig.restart();
      rig.faults.outage();
      expectProblem(await rig.invoke("fourth"), status, code);
      expect(runs).toBe(2);
      expect(reasons(rig)[0]).toContain('"interrupted"');
      const history = validHistory(rig.server.requests.at(-1)?.body ?? "");
      expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
      await expectSound(rig);
    },
  );
});

test("a commit whose answer was lost: the log does not fork, and a restart finds all of it", async () => {
  await using rig = await start();
  await rig.invoke("first");
  rig.faults.fail("appendBatch", { error: new StorageFailedError("no answer"), when: "after" });
  expectProblem(await rig.invoke("second"), 500, "storage-failed");
  expectProblem(await rig.invoke("third"), 409, "sequence-conflict");
  await rig.restart();
  expect((await rig.invoke("fourth")).body).toMatchObject({ turn: 3, message: "All done" });
  expect(reasons(rig)[1]).toContain('"interrupted"');
  await expectSound(rig);
});
