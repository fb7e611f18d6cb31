import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { StorageFullError } from "../../src/store/errors.ts";
import { AppRig, HeldProvider } from "../fixtures/app-rig.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { expectProblem } from "../fixtures/problem.ts";

const JSON_TYPE = { "content-type": "application/json" };

function fork(rig: AppRig, body: unknown, sessionId = "default"): Promise<Response> {
  return rig.fetch(`/api/v1/sessions/${sessionId}/forks`, {
    method: "POST",
    headers: JSON_TYPE,
    body: JSON.stringify(body),
  });
}

/** A session of this many Turns, and the seqs of their ends. */
async function grown(turns: number): Promise<{ readonly rig: AppRig; readonly ends: readonly number[] }> {
  const rig = await AppRig.start();
  for (let turn = 1; turn <= turns; turn += 1) await rig.client.invoke(`say ${turn}`);
  const ends = [...rig.log].filter(({ type }) => type === "turn/end").map(({ seq }) => seq);
  return { rig, ends };
}

async function ids(rig: AppRig): Promise<string[]> {
  return (await rig.store.list()).items.map(({ id }) => id).sort();
}

const answerSchema = z.strictObject({
  sessionId: z.string(),
  header: z.strictObject({
    version: z.literal(0),
    id: z.string(),
    createdAt: z.number(),
    parentSession: z.literal("default"),
    seedLength: z.number(),
    delegationDepth: z.literal(0),
  }),
  boundary: z.number(),
  nextSeq: z.number(),
});

describe("a fork", () => {
  test("is a new session with a copy of this one, stored and not served", async () => {
    const { rig, ends } = await grown(2);
    await using _ = rig;
    const before = [...rig.log.texts()];
    const response = await fork(rig, { sessionId: "my-fork_1.~" });
    expect(response.status).toBe(201);
    expect(response.headers.get("location")).toBeNull();
    const answer = answerSchema.parse(await response.json());
    const seedLength = (ends[1] ?? 0) + 1;
    expect(answer).toMatchObject({
      sessionId: "my-fork_1.~",
      header: { id: "my-fork_1.~", seedLength },
      boundary: seedLength - 1,
      nextSeq: seedLength + 1,
    });
    const stored = await rig.store.inspect("my-fork_1.~");
    expect(stored.header).toEqual(answer.header);
    expect([...stored.log.texts(0, seedLength)]).toEqual(before);
    expect(stored.log.length).toBe(answer.nextSeq);
    expect([...rig.log.texts()]).toEqual(before);
    await expectProblem(await rig.fetch("/api/v1/sessions/my-fork_1.~"), 404, "not-found");
    // Whoever resumes it finds it closed.
    await using preparation = await rig.store.prepare("my-fork_1.~");
    expect(preparation.closers).toEqual([]);
    expect((await rig.client.invoke("say on")).body).toMatchObject({ turn: 3 });
  });

  test("gets an id when none is chosen, another one each time", async () => {
    const { rig } = await grown(1);
    await using _ = rig;
    const answers = [await fork(rig, {}), await fork(rig, {})];
    const made = [];
    for (const answer of answers) made.push(answerSchema.parse(await answer.json()).sessionId);
    expect(new Set([...made, "default"]).size).toBe(3);
    expect(await ids(rig)).toEqual([...made, "default"].sort());
  });

  test("is cut at the end of a Turn that is named", async () => {
    const { rig, ends } = await grown(3);
    await using _ = rig;
    for (const [k, boundary] of ends.entries()) {
      const answer = answerSchema.parse(await (await fork(rig, { sessionId: `f${k}`, boundary })).json());
      expect(answer).toMatchObject({ boundary, nextSeq: boundary + 2, header: { seedLength: boundary + 1 } });
    }
  });

  test("of a session with a running Turn ends before that; without a Turn that ended there is none", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    await expectProblem(await fork(rig, {}), 409, "fork-boundary");
    const running = rig.client.invoke("say one");
    await provider.reached;
    await expectProblem(await fork(rig, {}), 409, "fork-boundary");
    provider.release();
    await running;
    expect((await fork(rig, {})).status).toBe(201);
  });
});

describe("a fork that is refused leaves nothing", () => {
  test.each([
    ["before any Turn ended", 409, "fork-boundary", { boundary: 0 }],
    ["inside a Turn", 409, "fork-boundary", { boundary: 3 }],
    ["past the end", 409, "fork-boundary", { boundary: 1_000_000 }],
    ["at a negative seq", 400, "invalid-request", { boundary: -1 }],
    ["between two seqs", 400, "invalid-request", { boundary: 1.5 }],
    ["at a text", 400, "invalid-request", { boundary: "3" }],
    ["at a number beyond those that are exact", 400, "invalid-request", { boundary: 2 ** 53 }],
    ["with an empty id", 400, "invalid-request", { sessionId: "" }],
    ["with an id that needs escapes", 400, "invalid-request", { sessionId: "a/b" }],
    ["with an id that no path can hold", 400, "invalid-request", { sessionId: ".." }],
    ["with an id that is too long", 400, "invalid-request", { sessionId: "a".repeat(201) }],
    ["with an id that is no text", 400, "invalid-request", { sessionId: 7 }],
    ["with an unknown member", 400, "invalid-request", { at: 3 }],
    ["with a list", 400, "invalid-request", []],
    ["under the id of the session itself", 409, "already-exists", { sessionId: "default" }],
    ["under the id of another one", 409, "already-exists", { sessionId: "taken" }],
  ])("%s: %d %s", async (_, status, code, body) => {
    const { rig } = await grown(1);
    await using __ = rig;
    expect((await fork(rig, { sessionId: "taken" })).status).toBe(201);
    await expectProblem(await fork(rig, body), status, code);
    expect(await ids(rig)).toEqual(["default", "taken"]);
  });

  test("of a session that this Host does not serve", async () => {
    const { rig } = await grown(1);
    await using _ = rig;
    expect((await fork(rig, { sessionId: "other" })).status).toBe(201);
    await expectProblem(await fork(rig, {}, "other"), 404, "not-found");
    await expectProblem(await fork(rig, {}, "never"), 404, "not-found");
    expect(await ids(rig)).toEqual(["default", "other"]);
  });

  test("two at once under one id: one is made", async () => {
    const { rig } = await grown(1);
    await using _ = rig;
    const answers = await Promise.all([1, 2, 3].map(() => fork(rig, { sessionId: "one" })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(await ids(rig)).toEqual(["default", "one"]);
  });

  test("where the disk is full: its id is free afterwards", async () => {
    const { rig } = await grown(1);
    await using _ = rig;
    const error = new StorageFullError({ path: "/home/somebody" });
    rig.faults.failOnce(ofType("session/end-seed"), error);
    const response = await fork(rig, { sessionId: "f" });
    expect(await response.clone().text()).not.toContain("somebody");
    await expectProblem(response, 507, "storage-full");
    expect(rig.reports).toEqual([error]);
    expect(await ids(rig)).toEqual(["default"]);
    expect((await fork(rig, { sessionId: "f" })).status).toBe(201);
  });

  test("with a body that is no JSON, or not declared as such", async () => {
    const { rig } = await grown(1);
    await using _ = rig;
    const path = "/api/v1/sessions/default/forks";
    const send = (headers: Record<string, string>, body: string) =>
      rig.fetch(path, { method: "POST", headers, body });
    await expectProblem(await send(JSON_TYPE, "{"), 400, "invalid-request");
    await expectProblem(await send({ "content-type": "text/plain" }, "{}"), 415, "unsupported-media-type");
    await expectProblem(await send(JSON_TYPE, " ".repeat(8 * 1024 * 1024 + 1)), 413, "too-large");
    expect(await ids(rig)).toEqual(["default"]);
  });
});
