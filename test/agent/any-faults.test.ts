import { expect, test } from "bun:test";
import fc from "fast-check";
import { TurnAbort } from "../../src/agent/errors.ts";
import { isEvent, type SessionEvent } from "../../src/session/events.ts";
import { StorageFailedError, StorageFullError } from "../../src/store/errors.ts";
import { AgentRig } from "../fixtures/agent-rig.ts";
import { validHistory } from "../fixtures/chat-history.ts";
import { always, toolThenText } from "../fixtures/model-replies.ts";
import {
  delta,
  finish,
  type Reply,
  sseReply,
  statusReply,
  textReply,
  toolCallReply,
} from "../fixtures/provider-server.ts";
import { broken, echo } from "../fixtures/test-tools.ts";

/*
 * A few Turns of any kind, with any commits that fail, cancellations at any commit, restarts and crashes between them.
 * Whatever happens: memory is what is on the disk, the model gets valid histories, and in the end all is closed.
 */

interface Action {
  readonly kind: "text" | "tool" | "tools" | "bad-tools" | "error" | "cut" | "max-tokens";
  /** Commits from now on that fail, counted from 1. */
  readonly fails: readonly number[];
  readonly full: boolean;
  /** Commit at which the Turn is cancelled, if it gets that far. */
  readonly cancelAt: number | undefined;
  readonly after: "nothing" | "restart" | "crash";
}

const commit = fc.integer({ min: 1, max: 25 });
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom("text", "tool", "tools", "bad-tools", "error", "cut", "max-tokens"),
  fails: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.uniqueArray(commit, { maxLength: 3 }) },
  ),
  full: fc.boolean(),
  cancelAt: fc.option(commit, { nil: undefined, freq: 2 }),
  after: fc.constantFrom("nothing", "nothing", "restart", "crash"),
});

const calls = (...names: string[]) =>
  names.map((name, k) => ({ id: `${name}-${k}`, name, arguments: '{"text":"x"}' }));
const REPLIES: Readonly<Record<Action["kind"], readonly Reply[]>> = {
  text: [textReply("hello ", "you")],
  tool: [toolThenText("echo"), toolThenText("echo")],
  tools: [toolCallReply(...calls("echo", "broken", "echo")), textReply("done")],
  "bad-tools": [toolCallReply(...calls("none", "echo")), statusReply(500, "away")],
  error: [statusReply(429, "slow down")],
  cut: [sseReply([delta({ content: "half" })])],
  "max-tokens": [
    sseReply([
      delta({ content: "up to" }),
      delta({ tool_calls: [{ index: 0, ...fragment() }] }),
      finish("length"),
    ]),
  ],
};

function fragment(): object {
  return { id: "cut", type: "function", function: { name: "echo", arguments: '{"te' } };
}

/** The model of one rig: it says what the Turn that runs is given, and nothing that an earlier one left over. */
class Model {
  next: Reply[] = [];
  readonly reply: Reply = (request) => (this.next.shift() ?? textReply("no more"))(request);
}

async function perform(
  rig: AgentRig,
  model: Model,
  { kind, fails, full, cancelAt, after }: Action,
): Promise<void> {
  model.next = [...REPLIES[kind]];
  const { faults } = rig;
  for (const call of fails) {
    faults.fail("appendBatch", {
      call,
      error: full ? new StorageFullError({}) : new StorageFailedError("broken"),
    });
  }
  const abort = new AbortController();
  const cancelling = cancelAt === undefined ? undefined : faults.hold("appendBatch", cancelAt);
  void cancelling?.reached.then(() => {
    abort.abort(new TurnAbort("user"));
    cancelling.release();
  });
  await Promise.allSettled([rig.run(kind, { signal: abort.signal })]);
  await expectSameOnDisk(rig);
  if (after === "restart") await rig.restart();
  if (after === "crash") await rig.crash();
  await expectSameOnDisk(rig);
}

async function expectSameOnDisk(rig: AgentRig): Promise<void> {
  const { memory, disk } = await rig.texts();
  expect(memory).toEqual([...disk]);
}

/** Each Turn and Step is closed once, numbers only grow, and each call has one result before its Step ends. */
function expectBalanced(events: readonly SessionEvent[]): void {
  let [turn, step, lastTurn] = [0, 0, 0];
  let open = new Set<string>();
  for (const event of events) {
    if (isEvent(event, "turn/start")) {
      expect([turn, event.data.turn > lastTurn]).toEqual([0, true]);
      turn = lastTurn = event.data.turn;
    } else if (isEvent(event, "turn/end")) {
      expect([event.data.turn, step]).toEqual([turn, 0]);
      turn = 0;
    } else if (isEvent(event, "step/start")) {
      expect([step, open.size]).toEqual([0, 0]);
      step = event.data.step;
    } else if (isEvent(event, "step/end")) {
      expect([event.data.step, [...open]]).toEqual([step, []]);
      step = 0;
    } else if (isEvent(event, "assistant/message")) {
      open = new Set(
        event.data.message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : [])),
      );
    } else if (isEvent(event, "tool/result")) {
      expect(open.delete(event.data.message.source.callId)).toBe(true);
    }
  }
  expect(turn).toBe(0);
}

test("whatever fails, and wherever it is cancelled or crashes: memory is the disk, and histories are valid", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(0, 5),
      async (actions, chunkWindowMs) => {
        const model = new Model();
        const replies = always(model.reply);
        await using rig = await AgentRig.open({ tools: [echo, broken], chunkWindowMs, maxSteps: 3, replies });
        await rig.agent.session.log.append({ type: "session/title", data: "stored from the beginning" });
        for (const one of actions) await perform(rig, model, one);
        // A fresh start without faults: all that is left open is closed.
        await rig.crash();
        model.next = [textReply("well again")];
        expect(await rig.run("end")).toMatchObject({ message: "well again" });
        await expectSameOnDisk(rig);
        expectBalanced(rig.events);
        for (const { body } of rig.server.requests) validHistory(body);
      },
    ),
    { numRuns: 20 },
  );
}, 30_000);
