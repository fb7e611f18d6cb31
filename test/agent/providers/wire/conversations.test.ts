import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { TurnAbort } from "../../../../src/agent/errors.ts";
import { awaitEvent } from "../../../fixtures/await-event.ts";
import { textDelta } from "../../../fixtures/event-faults.ts";
import { forever } from "../../../fixtures/model-replies.ts";
import { echo } from "../../../fixtures/test-tools.ts";
import {
  answer,
  call,
  connectionTo,
  errorAnswer,
  finish,
  type HistoryEntry,
  openWireRig,
  reasoning,
  routeOf,
  text,
  textAnswer,
  tokens,
  unended,
  type Wire,
} from "../../../fixtures/wire.ts";
import { EACH_WIRE, WIRES } from "../../../fixtures/wires.ts";

const FIRST = tokens({ input: 100, output: 20, cached: 60, reasoning: 7 });
const SECOND = tokens({ input: 150, output: 30, cached: 100, reasoning: 2 });
const bodySchema = z.object({ messages: z.array(z.unknown()) });

/** A Step that reasons, speaks and calls twice. */
function calling(wire: Wire, id = "a") {
  return answer(
    wire,
    reasoning("hm"),
    text("I call."),
    call(0, { id, name: "echo", args: '{"text":"é"}' }),
    call(1, { id: `${id}2`, name: "echo" }),
    finish("tool-calls"),
    FIRST,
  );
}

const done = (wire: Wire) => answer(wire, text("Done."), finish("stop"), SECOND);

/** What the model is told of a Turn with {@link calling}. */
const HISTORY: readonly HistoryEntry[] = [
  { role: "user", text: "hi" },
  { role: "assistant", text: "I call." },
  { role: "call", text: '{"text":"é"}', id: "a" },
  { role: "call", text: "{}", id: "a2" },
  { role: "result", text: "echo é", id: "a" },
  { role: "result", text: "echo ", id: "a2" },
];

describe.each(EACH_WIRE)("a conversation over %s", (_, wire) => {
  test("sends calls and results back in order, and what was sent once has the same bytes from then on", async () => {
    const replies = [calling(wire), done(wire), textAnswer(wire, "2")];
    await using rig = await openWireRig(wire, replies, { tools: [echo], system: "Be brief." });
    expect(await rig.run("hi")).toMatchObject({ steps: 2, message: "Done." });
    await rig.restart();
    await rig.run("more");
    const bodies = rig.server.requests.map(({ body }) => body);
    expect(wire.history(bodies[1] ?? "")).toEqual([...HISTORY]);
    expect(wire.history(bodies[2] ?? "")).toEqual([
      ...HISTORY,
      { role: "assistant", text: "Done." },
      { role: "user", text: "more" },
    ]);
    expect(bodies.every((body) => body.includes('"Be brief."'))).toBe(true);
    const sent = bodies.map((body) =>
      bodySchema.parse(JSON.parse(body)).messages.map((one) => JSON.stringify(one)),
    );
    expect(sent[1]?.slice(0, sent[0]?.length)).toEqual(sent[0] ?? []);
    expect(sent[2]?.slice(0, sent[1]?.length)).toEqual(sent[1] ?? []);
  });

  test("records usage with each Step, and sums it over the Turn and the session, also after a restart", async () => {
    const replies = [calling(wire), done(wire), calling(wire, "b"), done(wire)];
    await using rig = await openWireRig(wire, replies, { tools: [echo] });
    const sum = {
      inputTokens: 250,
      outputTokens: 50,
      cacheReadTokens: 160,
      cacheWriteTokens: 0,
      reasoningTokens: 9,
    };
    expect((await rig.run("hi")).usage).toEqual(sum);
    expect(rig.all("assistant/message").map(({ data }) => data.usage)).toMatchObject([
      { inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, reasoningTokens: 7 },
      { inputTokens: 150, outputTokens: 30, cacheReadTokens: 100, reasoningTokens: 2 },
    ]);
    await rig.restart();
    expect(rig.agent.session.projections.usage.total).toEqual(sum);
    expect((await rig.run("hi")).usage).toEqual(sum);
    const { usage } = rig.agent.session.projections;
    const twice = Object.fromEntries(Object.entries(sum).map(([name, count]) => [name, 2 * count]));
    expect(usage.total).toMatchObject(twice);
    expect([usage.ofTurn(1), usage.ofTurn(2)]).toEqual([sum, sum]);
  });

  test("that fails in a later Step keeps the calls and results before it", async () => {
    const replies = [calling(wire), errorAnswer(wire, 500, "x"), textAnswer(wire, "better")];
    await using rig = await openWireRig(wire, replies, { tools: [echo] });
    const failed = await rig.run("hi");
    expect(failed).toMatchObject({ steps: 2, failure: { code: "provider-unavailable" } });
    expect(failed.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
    expect(await rig.run("second")).toMatchObject({ message: "better" });
    const { body = "" } = rig.server.requests[2] ?? {};
    expect(wire.history(body)).toEqual([...HISTORY, { role: "user", text: "second" }]);
  });

  test("that is cancelled in mid-answer keeps what was said, and no half of a call", async () => {
    const half = unended(
      wire,
      reasoning("hm"),
      text("half a"),
      text(" sentence"),
      call(0, { id: "a", name: "echo", args: '{"t' }),
      forever(),
    );
    await using rig = await openWireRig(wire, [half, textAnswer(wire, "better")], { tools: [echo] });
    const controller = new AbortController();
    const turn = rig.run("first", { signal: controller.signal });
    await awaitEvent(
      rig.agent.session.log,
      (event) => textDelta(event) && JSON.stringify(event).includes(" sentence"),
    );
    controller.abort(new TurnAbort("user"));
    expect((await turn).reason).toEqual({ kind: "aborted", reason: { kind: "user" } });
    expect(rig.all("assistant/message").map(({ data }) => data.interrupted)).toEqual([true]);
    expect(await rig.run("second")).toMatchObject({ message: "better" });
    expect(wire.history(rig.server.requests[1]?.body ?? "")).toEqual([
      { role: "user", text: "first" },
      { role: "assistant", text: "half a sentence" },
      { role: "user", text: "second" },
    ]);
  });

  test.each(WIRES.filter((other) => other !== wire).map((other) => [other.name, other] as const))(
    "goes on over %s, whatever its call ids look like",
    async (_, other) => {
      const replies = [calling(wire, "call:é/1"), done(wire), textAnswer(other, "better")];
      await using rig = await openWireRig(wire, replies, { tools: [echo] });
      await rig.run("hi");
      const provider = await other.connect(connectionTo(other, rig.server.origin));
      const turn = await rig.run("second", { provider, route: routeOf(other) });
      expect(turn).toMatchObject({ message: "better" });
      expect(rig.server.requests.map(({ path }) => path)).toEqual([wire.path, wire.path, other.path]);
      const sent = other.history(rig.server.requests[2]?.body ?? "");
      const entries = [...HISTORY, { role: "assistant", text: "Done." }, { role: "user", text: "second" }];
      expect(sent.map(({ role, text }) => `${role} ${text}`)).toEqual(
        entries.map(({ role, text }) => `${role} ${text}`),
      );
      const ids = sent.flatMap(({ id }) => (id === undefined ? [] : [id]));
      expect(ids.slice(2)).toEqual(ids.slice(0, 2));
      expect(new Set(ids).size).toBe(2);
      expect(rig.all("request/header").map(({ data }) => data.reason)).toEqual(["initial", "change"]);
    },
  );
});
