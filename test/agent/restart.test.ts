import { describe, expect, test } from "bun:test";
import { TurnAbort } from "../../src/agent/errors.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { awaitEvent } from "../fixtures/await-event.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { type EventMatch, ofType, textDelta } from "../fixtures/event-faults.ts";
import { forever } from "../fixtures/model-replies.ts";
import {
  delta,
  finish,
  type Reply,
  sseReply,
  statusReply,
  textReply,
  toolCallReply,
} from "../fixtures/provider-server.ts";
import { broken, echo, StubbornTool } from "../fixtures/test-tools.ts";

const ODD = 'say "\ud83e\udd80 \u2028\u2029\u0085\u0000\r\n\\u0041" \ud800 e\u0301';

interface Exchange {
  readonly input: string;
  readonly replies: readonly Reply[];
  /** Cancels the Turn when its first words are durable. */
  readonly cancel?: boolean;
}

const CONVERSATION: readonly Exchange[] = [
  { input: ODD, replies: [textReply(ODD, "\ud83e", "\udd80")] },
  {
    input: "use tools",
    replies: [
      toolCallReply(
        { id: "a", name: "echo", arguments: JSON.stringify({ text: ODD }) },
        { id: "b", name: "echo", arguments: '{ "text" : "spaced", "n": 1234567890123456789 }' },
        { id: "c", name: "broken", arguments: "" },
        { id: "d", name: "nothing", arguments: "not json" },
      ),
      sseReply([delta({ reasoning_content: "hm" }), delta({ content: "so" }), finish("stop")]),
    ],
  },
  { input: "fail", replies: [statusReply(503, "away")] },
  { input: "stop", replies: [sseReply([delta({ content: "half an answer" }), forever()])], cancel: true },
  { input: "cut off", replies: [sseReply([delta({ content: "up to here" }), finish("length")])] },
  { input: "nothing", replies: [sseReply([finish("stop")])] },
  { input: "bye", replies: [textReply("bye")] },
];

/** The raw request bodies and the log of the conversation, with something done between its Turns. */
async function converse(between: (rig: AgentRig) => Promise<void>) {
  await using rig = await AgentRig.open({ tools: [echo, broken], system: "Be brief." });
  for (const { input, replies, cancel = false } of CONVERSATION) {
    rig.server.script(...replies);
    const abort = new AbortController();
    const turn = rig.run(input, { signal: abort.signal });
    if (cancel) {
      const seq = rig.agent.session.log.length;
      await awaitEvent(rig.agent.session.log, (event) => event.seq >= seq && textDelta(event));
      abort.abort(new TurnAbort("user"));
    }
    await turn;
    await between(rig);
  }
  return { bodies: rig.server.requests.map(({ body }) => body), log: (await rig.texts()).disk };
}

describe("requests after a restart", () => {
  test("are byte for byte those of a run without one, whether it was closed or crashed", async () => {
    const straight = await converse(async () => undefined);
    const closed = await converse((rig) => rig.restart());
    const crashed = await converse((rig) => rig.crash());
    expect(straight.bodies).toHaveLength(8);
    for (const body of straight.bodies) validHistory(body);
    expect(closed.bodies).toEqual(straight.bodies);
    expect(crashed.bodies).toEqual(straight.bodies);
    expect(closed.log).toEqual(straight.log);
    expect(crashed.log).toEqual(straight.log);
  });

  test("begin with the history of the request before, so that a prompt cache holds", async () => {
    const { bodies } = await converse((rig) => rig.restart());
    const histories = bodies.map((body) => validHistory(body));
    for (const [k, history] of histories.entries()) {
      expect(histories[k + 1]?.slice(0, history.length) ?? history).toEqual([...history]);
    }
  });
});

const THREE_CALLS = toolCallReply(
  { id: "a", name: "echo", arguments: '{"text":"1"}' },
  { id: "b", name: "stubborn", arguments: "{}" },
  { id: "c", name: "echo", arguments: '{"text":"3"}' },
);

/** Crashes in the second Turn just before an event that fits is durable, and says one thing more. */
async function crashBefore(match: EventMatch, replies: Reply[], again: (rig: AgentRig) => Promise<void>) {
  const stubborn = new StubbornTool();
  stubborn.release();
  const tools = [echo, stubborn.tool];
  await using rig = await AgentRig.open({ tools, replies: [textReply("hello"), ...replies] });
  await rig.run("hi");
  const hold = rig.faults.holdOnce(match);
  const lost = rig.run("go").catch(() => undefined);
  await hold.reached;
  await rig.crash();
  hold.release();
  await lost;
  await again(rig);
  const { length } = rig.server.requests;
  rig.server.script(textReply("back"));
  const result = await rig.run("still there?");
  const { body } = await rig.server.request(length);
  return {
    result,
    history: validHistory(body),
    body,
    runs: stubborn.runs,
    reasons: rig.all("turn/end").map(({ data }) => data.reason.kind),
    errors: rig.all("tool/result").map(({ data }) => data.error?.code),
    texts: await rig.texts(),
  };
}

const once = async () => undefined;
const twice = async (rig: AgentRig) => {
  await rig.crash();
  await rig.restart();
};

const withoutTime = (text: string) => text.replace(/"time":\d+/, '"time":0');

describe("a crash in the middle of a Turn", () => {
  test("in the model call: the Turn is closed as interrupted, its half answer is not in the history", async () => {
    const half = sseReply([delta({ content: "half" }), finish("stop")]);
    const found = await crashBefore(ofType("assistant/message"), [half], once);
    expect(found.reasons).toEqual(["completed", "interrupted", "completed"]);
    expect(found.result).toMatchObject({ turn: 3, message: "back" });
    expect(found.history.map(({ role }) => role)).toEqual(["user", "assistant", "user", "user"]);
    expect(found.texts.memory.join()).toContain('"half"');
    expect(found.texts.disk).toEqual([...found.texts.memory]);
  });

  test("in the second of three calls: one result is real, one unknown, one never started; nothing runs again", async () => {
    const second: EventMatch = (event) =>
      ofType("tool/result")(event) && JSON.stringify(event).includes('"b"');
    const found = await crashBefore(second, [THREE_CALLS], once);
    expect(found.errors).toEqual([undefined, "TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"]);
    expect(found.runs).toBe(1);
    const results = found.history.filter(({ role }) => role === "tool");
    expect(results.map(({ content }) => content?.slice(0, 23))).toEqual([
      "echo 1",
      "The session was interru",
      "This tool call was not ",
    ]);
  });

  test.each<[string, EventMatch]>([
    ["step/start", ofType("step/start")],
    ["the first words", ofType("assistant/chunk")],
    ["assistant/message", ofType("assistant/message")],
    ["tool/call", ofType("tool/call")],
    ["tool/result", ofType("tool/result")],
    ["step/end", ofType("step/end")],
    ["the second step/start", ofType("step/start", 2)],
    ["turn/end", ofType("turn/end")],
  ])("before %s: the history is valid, and the same however often it crashes again", async (_, match) => {
    const replies = [THREE_CALLS, textReply("done")];
    const first = await crashBefore(match, replies, once);
    const second = await crashBefore(match, replies, twice);
    expect(first.result).toMatchObject({ turn: 3, reason: { kind: "completed" } });
    expect(first.reasons).toEqual(["completed", "interrupted", "completed"]);
    expect(second.body).toBe(first.body);
    // How often the clock was read before the crash is chance.
    expect(second.texts.disk.map(withoutTime)).toEqual(first.texts.disk.map(withoutTime));
    expect(second.texts.memory).toEqual(second.texts.disk);
  });
});
