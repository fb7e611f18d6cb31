import { z } from "zod";
import { validHistory } from "../fixtures/chat-history.ts";
import type { ClientAnswer, Journal, ModelRequest } from "./journal.ts";
import type { LogModel } from "./log-model.ts";
import { need } from "./need.ts";

const answerSchema = z.strictObject({
  invocationId: z.string(),
  sessionId: z.literal("default"),
  turn: z.number(),
  steps: z.number(),
  reason: z.looseObject({ kind: z.string() }),
  message: z.string(),
  usage: z.looseObject({ inputTokens: z.number(), outputTokens: z.number() }),
});
const problemSchema = z.looseObject({ code: z.string() });

/**
 * Holds what clients and the model were told against the log, and forgets it: the log is the whole one of a Host that is
 * gone, or of one that has just opened it.
 * @throws Error
 */
export function checkDeeds(journal: Journal, model: LogModel): void {
  const { requests, answers } = journal;
  journal.requests = [];
  journal.answers = [];
  for (const request of requests) checkRequest(request, model);
  for (const answer of answers) {
    try {
      checkAnswer(answer, model);
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      throw new Error(
        `the answer ${answer.status} to ${answer.id} does not hold: ${what}: ${JSON.stringify(answer.body)}`,
      );
    }
  }
}

/** The model is asked what the log says, byte for byte, once the log says it. */
function checkRequest({ id, answer, attempt, body }: ModelRequest, model: LogModel): void {
  const expected = model.requestFor(id, answer);
  if (expected === undefined)
    throw new Error(`the model was asked for answer ${id}/${answer}, of which the log knows nothing`);
  const retries = model.retriesFor(id, answer);
  need(
    retries >= attempt - 1,
    `attempt ${attempt} at answer ${id}/${answer} was made, and the log knows of ${retries} retries`,
  );
  if (body !== expected) {
    const at = [...body].findIndex((_, k) => body[k] !== expected[k]);
    const around = (text: string) => text.slice(Math.max(0, at - 80), at + 200);
    throw new Error(
      `the model was asked something else than the log says, for answer ${id}/${answer} at ${at}:\n${around(body)}\ninstead of\n${around(expected)}`,
    );
  }
  validHistory(body);
}

function checkAnswer({ id, status, body }: ClientAnswer, model: LogModel): void {
  const turn = model.turns.get(id);
  if (status === 200) {
    const answer = answerSchema.parse(body);
    if (turn === undefined) throw new Error("the log has no such Turn, or it is open");
    need(answer.invocationId === id, "it is for another invocation");
    need(
      answer.turn === turn.turn && answer.steps === turn.steps,
      `it is Turn ${turn.turn} of ${turn.steps} Steps`,
    );
    need(Bun.deepEquals(answer.reason, turn.reason), `the Turn ended as ${JSON.stringify(turn.reason)}`);
    need(answer.message === turn.message, `the last answer is ${JSON.stringify(turn.message)}`);
    const { inputTokens, outputTokens } = answer.usage;
    need(
      Bun.deepEquals({ inputTokens, outputTokens }, turn.usage),
      `its usage is ${JSON.stringify(turn.usage)}`,
    );
    return;
  }
  const { code } = problemSchema.parse(body);
  if (code === "closing" || code === "invocation-cancelled") {
    if (turn === undefined) {
      need(!model.hasInput(id), "its Turn is open");
      return;
    }
    const kind = code === "closing" ? "disposed" : "user";
    need(
      turn.reason.kind === "aborted" && turn.reason.reason.kind === kind,
      `its Turn ended as ${JSON.stringify(turn.reason)}`,
    );
    return;
  }
  need(code.startsWith("provider-"), "no such failure was to be expected");
  need(
    turn?.reason.kind === "error" && turn.reason.error.code === code,
    `its Turn ended as ${JSON.stringify(turn?.reason)}`,
  );
}
