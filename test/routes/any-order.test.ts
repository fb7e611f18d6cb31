import { expect, test } from "bun:test";
import fc from "fast-check";
import { pairToolCalls } from "../../src/agent/request.ts";
import { HoldfastError, StorageFullError } from "../../src/store/errors.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import { PlanModel, type PlannedAnswer, ticks } from "../fixtures/plan-model.ts";
import { poll } from "../fixtures/poll.ts";
import { committed, SseClient, type SseEvent } from "../fixtures/sse-client.ts";
import { broken, echo, makeTool } from "../fixtures/test-tools.ts";

/*
 * Clients that send, cancel, follow, fork and vanish in any order, with models, tools and commits that fail or hang. Whatever
 * happens: each is answered once, each sees its own events once and in order, and the log is whole.
 */

type Command =
  | {
      readonly kind: "invoke";
      readonly plan: readonly PlannedAnswer[];
      readonly as: "plain" | "stream" | "leaver";
    }
  | { readonly kind: "cancel"; readonly which: number }
  | { readonly kind: "ticks"; readonly count: number }
  | { readonly kind: "fail"; readonly call: number }
  | { readonly kind: "hold"; readonly call: number; readonly ticks: number }
  | { readonly kind: "follow"; readonly from: number }
  | { readonly kind: "fork" };

const text = fc.constantFrom("a", "bc", "\u{1f642}", "line\nline");
const answer: fc.Arbitrary<PlannedAnswer> = fc.record({
  texts: fc.array(text, { maxLength: 4 }),
  calls: fc.array(fc.constantFrom("echo", "broken", "stuck", "none"), { maxLength: 3 }),
  end: fc.oneof(
    { weight: 6, arbitrary: fc.constant("well" as const) },
    { weight: 4, arbitrary: fc.constantFrom("max-tokens", "error", "busy", "cut", "hang", "deaf") },
  ),
  pace: fc.nat(2),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("invoke" as const),
      plan: fc.array(answer, { minLength: 1, maxLength: 3 }),
      as: fc.constantFrom("plain", "stream", "stream", "leaver"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("cancel" as const), which: fc.nat(3) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("ticks" as const), count: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("fail" as const), call: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("hold" as const),
      call: fc.integer({ min: 1, max: 8 }),
      ticks: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("follow" as const), from: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fork" as const) }) },
);

const stuck = makeTool("stuck", () => new Promise(() => undefined));

/** Everything that happens to one app. */
class Life {
  readonly #rig: AppRig;
  readonly #model: PlanModel;
  readonly #ids: string[] = [];
  readonly #answers: Array<Promise<void>> = [];
  readonly #followers: Array<{ readonly from: number; readonly client: SseClient }> = [];

  constructor(rig: AppRig, model: PlanModel) {
    this.#rig = rig;
    this.#model = model;
  }

  async perform(command: Command): Promise<void> {
    const { faults, log, url } = this.#rig;
    switch (command.kind) {
      case "invoke":
        return this.#invoke(JSON.stringify(command.plan), command.as);
      case "cancel": {
        const id = this.#ids.at(-1 - command.which);
        if (id !== undefined) expect([202, 404]).toContain(await this.#cancel(id));
        return;
      }
      case "ticks":
        return ticks(command.count);
      case "fail":
        return faults.fail("appendBatch", { call: command.call, error: new StorageFullError({}) });
      case "hold": {
        const hold = faults.hold("appendBatch", command.call);
        void hold.reached.then(() => ticks(command.ticks)).then(hold.release);
        return;
      }
      case "follow": {
        const from = Math.min(command.from, log.length);
        const client = await SseClient.follow(url, from === 0 ? undefined : from - 1);
        this.#followers.push({ from, client });
        return;
      }
      default: {
        const path = "/api/v1/sessions/default/forks";
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
        const { status } = await this.#rig.fetch(path, init);
        expect([201, 409, 507]).toContain(status);
      }
    }
  }

  /** Ends all that is left, and looks at everything. */
  async end(): Promise<void> {
    const { agent, log } = this.#rig;
    let answered = false;
    const answers = Promise.all(this.#answers).finally(() => {
      answered = true;
    });
    // Again and again: one may not have arrived yet.
    while (!answered) {
      await ticks(1);
      for (const id of this.#ids) await this.#cancel(id);
    }
    await answers;
    await this.#settle();
    await poll("clients that left", async () =>
      agent.live.waiting === this.#followers.length ? true : undefined,
    );
    expectBalanced(log);
    for (const { messages } of this.#model.requests) expect(pairToolCalls(messages)).toEqual([...messages]);
    agent.live.close();
    for (const { from, client } of this.#followers) {
      const events = await client.rest();
      expect(events.at(-1)?.event).toBe("end");
      this.#expectEvents(events, from, log.length);
    }
    expect(this.#rig.reports.filter((error) => !(error instanceof HoldfastError))).toEqual([]);
  }

  /** A Turn that works: there is room again, whatever failed before. */
  async #settle(): Promise<void> {
    for (let k = 0; k < 15; k += 1) {
      const { status, body } = await this.#rig.client.invoke("[]", "last");
      if (status === 200) {
        expect(body.message).toBe("no more");
        return;
      }
      expect(status).toBe(507);
    }
    throw new Error("no Turn works any more");
  }

  #invoke(input: string, as: "plain" | "stream" | "leaver"): void {
    const id = `i${this.#ids.length}`;
    this.#ids.push(id);
    this.#answers.push(as === "plain" ? this.#plain(id, input) : this.#stream(id, input, as === "leaver"));
  }

  async #plain(id: string, input: string): Promise<void> {
    const { status, body } = await this.#rig.client.invoke(input, id);
    expect([200, 409, 502, 507]).toContain(status);
    if (status === 200) expect(["completed", "max-tokens", "error"]).toContain(String(body.reason?.kind));
  }

  async #stream(id: string, input: string, leaves: boolean): Promise<void> {
    const client = await SseClient.invoke(this.#rig.url, id, input);
    if (leaves) {
      await client.next();
      client.leave();
      return;
    }
    const events = await client.rest();
    const [last] = events.splice(-1);
    expect(["done", "error"]).toContain(String(last?.event));
    expect(events.filter(({ event }) => event !== "event" && event !== "provisional")).toEqual([]);
    const first = committed(events).at(0)?.id;
    if (first === undefined) return;
    this.#expectEvents(events, first, first + committed(events).length);
    const types = this.#rig.log.slice(first, first + committed(events).length).map(({ type }) => type);
    expect(types.indexOf("turn/start")).toBe(0);
    expect(types.lastIndexOf("turn/start")).toBe(0);
    if (last?.event === "done") expect(types.indexOf("turn/end")).toBe(types.length - 1);
  }

  #expectEvents(events: readonly SseEvent[], from: number, to: number): void {
    const texts = [...this.#rig.log.texts(from, to)];
    expect(committed(events)).toEqual(texts.map((text, k) => ({ id: from + k, text })));
    // What a client has on its screen ahead of the commits.
    const shown = new Map<number, unknown>();
    for (const { event, id, data } of events) {
      if (event === "provisional") {
        expect(Number(data.seq)).toBeGreaterThan(Math.max(-1, ...shown.keys()));
        shown.set(Number(data.seq), data["data"]);
      } else if (event === "event" && id !== undefined) {
        const delta = shown.get(id);
        shown.delete(id);
        if (data.type !== "assistant/chunk") shown.clear();
        else if (delta !== undefined) expect(data["data"]).toEqual(delta);
      }
    }
  }

  async #cancel(id: string): Promise<number> {
    return (await this.#rig.client.cancel(id)).status;
  }
}

function expectBalanced(log: AppRig["log"]): void {
  let open: string | undefined;
  for (const { type } of log) {
    if (type === "turn/start") {
      expect(open).toBeUndefined();
      open = type;
    } else expect(open).toBe("turn/start");
    if (type === "turn/end") open = undefined;
  }
  expect(open).toBeUndefined();
}

test("in any order of requests, cancellations, failures and departures all are answered and the log is whole", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 1, maxLength: 25 }),
      fc.constantFrom(0, 3),
      async (commands, chunkWindowMs) => {
        const model = new PlanModel();
        const retry = { retries: 1, random: () => 0, wait: (ms: number) => ticks(ms / 100) };
        await using rig = await AppRig.start({
          provider: model,
          tools: [echo, broken, stuck],
          retry,
          chunkWindowMs,
        });
        const life = new Life(rig, model);
        for (const one of commands) await life.perform(one);
        await life.end();
      },
    ),
    { numRuns: 40 },
  );
}, 30_000);
