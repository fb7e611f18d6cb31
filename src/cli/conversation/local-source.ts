import { assertAnswered } from "../../agent/answered.ts";
import { InvocationCancelledError } from "../../agent/errors.ts";
import type { TurnResult } from "../../agent/turn.ts";
import type { Runtime } from "../../host/runtime.ts";
import type { Answer, TurnOptions, TurnSource, TurnUpdate } from "./source.ts";
import { TurnReader } from "./turn-reader.ts";

/** Characters of events that are read at once. */
const PIECE = 64 * 1024;

/** An agent in this process. It runs and ends Turns as a Host does. */
export class LocalSource implements TurnSource {
  readonly #runtime: Runtime;
  readonly #newId: () => string;

  constructor(runtime: Runtime, newId: () => string) {
    this.#runtime = runtime;
    this.#newId = newId;
  }

  async *run(input: string, { live, signal: cancelled }: TurnOptions): AsyncGenerator<TurnUpdate> {
    const { agent, queue, providers, defaultRoute } = this.#runtime;
    const invocationId = this.#newId();
    if (cancelled.aborted) throw new InvocationCancelledError();
    const turn = agent.live.followTurn();
    const { answer } = queue.enqueue(invocationId, async (signal) => {
      turn.begin();
      return await agent.run(input, providers.resolve(defaultRoute), defaultRoute, signal);
    });
    const cancel = () => queue.cancel(invocationId);
    cancelled.addEventListener("abort", cancel);
    const end = () => {
      cancelled.removeEventListener("abort", cancel);
      turn.end();
    };
    const ended = answer.then(end, end);
    const reader = new TurnReader();
    while (live && !turn.ended) {
      for (const item of turn.take(PIECE)) {
        yield* item.kind === "event" ? reader.event(JSON.parse(item.text)) : reader.provisional(item.delta);
      }
      if (!turn.ended) await turn.changed();
    }
    await ended;
    yield { kind: "done", answer: await this.#answer(invocationId, answer) };
  }

  async #answer(
    invocationId: string,
    result: Promise<TurnResult>,
  ): Promise<Answer & { readonly invocationId: string; readonly sessionId: string }> {
    const ended = await result;
    assertAnswered(ended);
    const { turn, steps, reason, message, usage } = ended;
    return { invocationId, sessionId: this.#runtime.agent.session.id, turn, steps, reason, message, usage };
  }
}
