import { assertAnswered } from "../../agent/answered.ts";
import type { TurnResult } from "../../agent/turn.ts";
import type { Runtime } from "../../host/runtime.ts";
import type { Answer, TurnSource, TurnUpdate } from "./source.ts";
import { TurnReader } from "./turn-reader.ts";

/** Characters of events that are read at once. */
const PIECE = 64 * 1024;

/** An agent in this process. It runs and ends Turns as a Host does. */
export class LocalSource implements TurnSource {
  readonly #runtime: Runtime;
  readonly #newId: () => string;
  #invocationId: string | undefined;

  constructor(runtime: Runtime, newId: () => string) {
    this.#runtime = runtime;
    this.#newId = newId;
  }

  async *run(input: string, { live }: { readonly live: boolean }): AsyncGenerator<TurnUpdate> {
    const { agent, queue, providers, defaultRoute } = this.#runtime;
    const invocationId = this.#newId();
    this.#invocationId = invocationId;
    const turn = agent.live.followTurn();
    const { answer } = queue.enqueue(invocationId, async (signal) => {
      turn.begin();
      return await agent.run(input, providers.resolve(defaultRoute), defaultRoute, signal);
    });
    const ended = answer.then(
      () => turn.end(),
      () => turn.end(),
    );
    const reader = new TurnReader();
    while (live && !turn.ended) {
      for (const item of turn.take(PIECE)) {
        yield* item.kind === "event" ? reader.event(JSON.parse(item.text)) : reader.provisional(item.delta);
      }
      if (!turn.ended) await turn.changed();
    }
    await ended;
    this.#invocationId = undefined;
    yield { kind: "done", answer: await this.#answer(invocationId, answer) };
  }

  cancel(): void {
    if (this.#invocationId !== undefined) this.#runtime.queue.cancel(this.#invocationId);
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
