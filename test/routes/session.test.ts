import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { AppRig, HeldProvider } from "../fixtures/app-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { expectProblem } from "../fixtures/problem.ts";

const AT = { turn: 1, step: 1 };
const PATH = "/api/v1/sessions/default";

/** Each kind of transcript entry, as docs/http.md lists them, without room for anything else. */
const entrySchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user"), seq: z.number(), turn: z.number(), text: z.string() }),
  z.strictObject({
    kind: z.literal("assistant"),
    seq: z.number(),
    turn: z.number(),
    step: z.number(),
    text: z.string(),
    reasoning: z.string().optional(),
    toolCalls: z.array(z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })),
    usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }).optional(),
    interrupted: z.boolean().optional(),
  }),
  z.strictObject({
    kind: z.literal("tool"),
    seq: z.number(),
    turn: z.number(),
    step: z.number(),
    callId: z.string(),
    name: z.string(),
    ok: z.boolean(),
    text: z.string(),
    error: z.strictObject({ name: z.string(), code: z.string() }).optional(),
  }),
  z.strictObject({
    kind: z.literal("turn-end"),
    seq: z.number(),
    turn: z.number(),
    reason: z.looseObject({ kind: z.string() }),
  }),
]);

const ERROR = { name: "ToolFailedError", code: "TOOL_FAILED" };
const USAGE = { inputTokens: 12, outputTokens: 3, reasoningTokens: 1 };
const EVERYTHING = [
  turnStart(1),
  userMessage("Look."),
  stepStart(AT),
  assistantMessage(
    AT,
    [{ type: "reasoning", text: "Hm." }, callBlock("c1"), callBlock("c2"), textBlock("I look.")],
    {
      usage: USAGE,
    },
  ),
  toolCall(AT, "c1"),
  toolResult(AT, "c1", "found", { sources: [4] }),
  toolCall(AT, "c2"),
  toolResult(AT, "c2", "broken", { error: ERROR, sources: [6] }),
  stepEnd(AT),
  turnEnd(1, { kind: "error", error: { message: "no", code: "provider-unavailable" } }),
  turnStart(2),
  userMessage("And?"),
  assistantMessage({ turn: 2, step: 1 }, [textBlock("Well")], { interrupted: true }),
  turnEnd(2, { kind: "aborted", reason: { kind: "user" } }),
];

describe("the session over HTTP", () => {
  test("has one transcript entry of a fixed shape for all that a person reads", async () => {
    await using rig = await AppRig.start();
    await rig.log.appendAll(EVERYTHING);
    const response = await rig.fetch(PATH);
    expect(response.headers.get("content-type")).toBe("application/json");
    const { transcript, ...session } = z
      .strictObject({
        sessionId: z.string(),
        header: z.looseObject({}),
        nextSeq: z.number(),
        usage: z.record(z.string(), z.number()),
        events: z.array(z.looseObject({ seq: z.number(), type: z.string() })),
        transcript: z.array(entrySchema),
      })
      .parse(await response.json());
    const usage = { ...USAGE, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(session).toMatchObject({ sessionId: "default", nextSeq: EVERYTHING.length, usage });
    expect(session.header).toEqual({ ...rig.log.header });
    expect(session.events.map(({ type }) => type)).toEqual(EVERYTHING.map(({ type }) => type));
    expect(transcript).toEqual([
      { kind: "user", seq: 1, turn: 1, text: "Look." },
      {
        kind: "assistant",
        seq: 3,
        turn: 1,
        step: 1,
        text: "I look.",
        reasoning: "Hm.",
        toolCalls: [
          { id: "c1", name: "read_file", arguments: "{}" },
          { id: "c2", name: "read_file", arguments: "{}" },
        ],
        usage: USAGE,
      },
      { kind: "tool", seq: 5, turn: 1, step: 1, callId: "c1", name: "read_file", ok: true, text: "found" },
      {
        ...{
          kind: "tool",
          seq: 7,
          turn: 1,
          step: 1,
          callId: "c2",
          name: "read_file",
          ok: false,
          text: "broken",
        },
        error: ERROR,
      },
      {
        kind: "turn-end",
        seq: 9,
        turn: 1,
        reason: { kind: "error", error: { message: "no", code: "provider-unavailable" } },
      },
      { kind: "user", seq: 11, turn: 2, text: "And?" },
      { kind: "assistant", seq: 12, turn: 2, step: 1, text: "Well", toolCalls: [], interrupted: true },
      { kind: "turn-end", seq: 13, turn: 2, reason: { kind: "aborted", reason: { kind: "user" } } },
    ]);
  });

  test("is empty before its first event", async () => {
    await using rig = await AppRig.start();
    expect(await rig.client.read()).toMatchObject({ nextSeq: 0, events: [], transcript: [] });
  });

  test("gives every event as it is stored, byte for byte, and runs of deltas unpacked", async () => {
    await using rig = await AppRig.start();
    const deltas = ["a", "\u2028", "\ud800", "\u0000", "\u{1F9C0}"].map((text) => textDelta(AT, text));
    await rig.log.appendAll([turnStart(1), stepStart(AT), ...deltas]);
    const { text, nextSeq, events } = await rig.client.read();
    expect(text).toContain(`"events":[${[...rig.log.texts()].join(",")}],"transcript":`);
    expect(nextSeq).toBe(7);
    expect(events.map(({ seq, type }) => `${seq} ${type}`).slice(2)).toEqual(
      [2, 3, 4, 5, 6].map((seq) => `${seq} assistant/chunk`),
    );
    expect(JSON.stringify(events.map(({ data }) => data))).toContain('"text":"\\ud800"');
  });

  test("hides nothing that a compaction replaced", async () => {
    await using rig = await AppRig.start();
    await rig.log.appendAll([turnStart(1), userMessage("One."), userMessage("Two.", "u2"), turnEnd(1)]);
    await rig.log.append(replacing(userMessage("Both.", "u3"), 1, 2, [1, 2]));
    const { transcript } = await rig.client.read();
    expect(transcript.map((entry) => entry["text"])).toEqual(["One.", "Two."]);
  });

  test("shows nothing that is not durable yet", async () => {
    await using rig = await AppRig.start();
    await rig.log.append(turnStart(1));
    const hold = rig.faults.holdOnce(ofType("user/message"));
    const appended = rig.log.append(userMessage("Wait."));
    await hold.reached;
    expect(await rig.client.read()).toMatchObject({ nextSeq: 1, transcript: [] });
    hold.release();
    await appended;
    expect(await rig.client.read()).toMatchObject({ nextSeq: 2, transcript: [{ text: "Wait." }] });
  });

  test("can be read while a Turn runs", async () => {
    const provider = new HeldProvider();
    await using rig = await AppRig.start({ provider });
    const running = rig.client.invoke("say hello");
    await provider.reached;
    const { events } = await rig.client.read();
    expect(events.map(({ type }) => type)).toEqual([
      "turn/start",
      "user/message",
      "step/start",
      "request/header",
    ]);
    provider.release();
    expect((await running).body.message).toBe("hello");
    await awaitEvent(rig.log, ofType("turn/end"));
  });

  test("of any other id is not found", async () => {
    await using rig = await AppRig.start();
    for (const id of ["other", "Default", "default%20", "..%2Fdefault", "%00"]) {
      const problem = await expectProblem(await rig.fetch(`/api/v1/sessions/${id}`), 404, "not-found");
      expect(problem.detail).not.toContain("/tmp");
    }
    expect((await rig.fetch("/api/v1/sessions/%64efault")).status).toBe(200);
  });

  test("of many events comes in pieces, not as one string", async () => {
    await using rig = await AppRig.start();
    const text = "x".repeat(2_000);
    for (let turn = 1; turn <= 20; turn += 1) {
      const messages = Array.from({ length: 100 }, (_, k) => userMessage(text, `u-${turn}-${k}`));
      await rig.log.appendAll([turnStart(turn), ...messages, turnEnd(turn)]);
    }
    expect((await rig.fetch(PATH)).headers.get("content-length")).toBeNull();
    // Asked without a network, which would cut the body into pieces of its own.
    const response = await rig.app.handle(new Request(rig.url + PATH, { headers: { host: "localhost" } }));
    const pieces: Uint8Array[] = [];
    for await (const bytes of response.body ?? []) pieces.push(bytes);
    const body = Buffer.concat(pieces);
    expect(body.length).toBeGreaterThan(4_000_000);
    expect(Math.max(...pieces.map(({ byteLength }) => byteLength))).toBeLessThan(100_000);
    const parsed: unknown = JSON.parse(body.toString());
    expect(parsed).toMatchObject({ nextSeq: 2_040 });
  });

  test("is given up quietly when its reader leaves in the middle", async () => {
    await using rig = await AppRig.start();
    const messages = Array.from({ length: 2_000 }, (_, k) => userMessage("x".repeat(4_000), `u-${k}`));
    await rig.log.appendAll([turnStart(1), ...messages]);
    const response = await rig.fetch(PATH);
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect((await rig.client.read()).nextSeq).toBe(2_001);
    expect(rig.reports).toEqual([]);
  });
});

test("a long session leaves the event loop to others between its pieces", async () => {
  await using rig = await AppRig.start();
  const drafts = Array.from({ length: 400 }, () => textDelta(AT, "word ".repeat(50)));
  for (let batch = 0; batch < 10; batch += 1) await rig.log.appendAll(drafts);
  const response = await rig.app.handle(new Request(`${rig.url}${PATH}`, { headers: { host: "127.0.0.1" } }));
  expect(response.status).toBe(200);
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  let pieces = 0;
  for await (const piece of response.body ?? []) pieces += piece.byteLength > 0 ? 1 : 0;
  isDone = true;
  expect(pieces).toBeGreaterThan(10);
  expect(turns).toBeGreaterThanOrEqual(pieces - 1);
});
