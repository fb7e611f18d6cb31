import { Elysia } from "elysia";
import { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import { assertAnswered } from "../agent/answered.ts";
import { UnknownInvocationError } from "../agent/errors.ts";
import type { InvocationQueue } from "../agent/invocations.ts";
import type { LiveTurn } from "../agent/live-turn.ts";
import type { ProviderRegistry, Route } from "../agent/providers/registry.ts";
import { prefersEventStream } from "./accept.ts";
import { eventStream, serverSentEvent } from "./event-stream.ts";
import { readJsonBody } from "./json-body.ts";
import { isTrouble, PROVIDER_KINDS, problemOf } from "./problem.ts";
import { problemResponses } from "./problem-responses.ts";
import { publicId } from "./public-id.ts";

export interface InvocationServices {
  readonly agent: Agent;
  readonly queue: InvocationQueue;
  readonly providers: ProviderRegistry;
  /** Route of invocations that name none. */
  readonly defaultRoute: Route;
}

/** What its answers take beside it. */
export interface AnswerOptions {
  readonly heartbeatMs: number;
  readonly report: (error: unknown, request: Request) => void;
}

const paramsSchema = z.object({ invocationId: publicId });

const bodySchema = z.strictObject({
  input: z.string().regex(/\S/, "there must be more than white space"),
  route: z.strictObject({ provider: z.string().min(1), model: z.string().min(1) }).optional(),
});

const totalsSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  reasoningTokens: z.number(),
});

const answerSchema = z.object({
  invocationId: z.string(),
  sessionId: z.string(),
  turn: z.number(),
  steps: z.number(),
  reason: z.looseObject({ kind: z.string() }),
  message: z.string(),
  usage: totalsSchema,
});

type Answer = z.infer<typeof answerSchema>;

/** `POST` and `DELETE /agent/invocations/{invocation_id}`: run one Turn, cancel one. */
export function invocationRoutes(services: InvocationServices, options: AnswerOptions) {
  const { queue } = services;
  return new Elysia({ name: "invocations" })
    .post(
      "/agent/invocations/:invocationId",
      ({ params: { invocationId }, body: { input, route }, request }) => {
        const { turn, answer } = invoke(services, invocationId, input, route);
        if (!prefersEventStream(request.headers.get("accept"), "application/json")) return answer;
        // Told on time also when the client has gone or is slow.
        const last = lastEvent(answer, (error) => options.report(error, request));
        return eventStream(
          {
            follower: turn,
            last: () => last,
            heartbeatMs: options.heartbeatMs,
            report: (error) => options.report(error, request),
          },
          request,
        );
      },
      {
        params: paramsSchema,
        // The second one is never reached; the OpenAPI document takes the media type from it.
        parse: [({ request }) => readJsonBody(request), "json"],
        body: bodySchema,
        response: { 200: answerSchema },
        detail: {
          summary: "Run one Turn",
          description:
            "Queued in the order of arrival. The answer comes when the end of the Turn is durable; as an event stream it begins at once and tells the Turn as it happens. A client that goes away does not cancel it.",
          responses: {
            200: {
              description: "The result of the Turn",
              content: { "text/event-stream": { schema: { type: "string" } } },
            },
            ...problemResponses(
              ...["invalid-request", "invocation-duplicate", "invocation-cancelled", "sequence-conflict"],
              ...["too-large", "unsupported-media-type", "storage-failed"],
              ...Object.keys(PROVIDER_KINDS),
              ...["no-route", "queue-full", "closing", "closed", "storage-full"],
            ),
          },
        },
      },
    )
    .delete(
      "/agent/invocations/:invocationId",
      ({ params: { invocationId }, status }) => {
        if (!queue.cancel(invocationId)) throw new UnknownInvocationError(invocationId);
        return status(202, { invocationId });
      },
      {
        params: paramsSchema,
        response: { 202: z.object({ invocationId: z.string() }) },
        detail: {
          summary: "Cancel a queued or running invocation",
          description: "A queued one leaves no trace; a running one ends its Turn as aborted.",
          responses: {
            202: { description: "It was told to stop" },
            ...problemResponses("invalid-request", "invocation-unknown"),
          },
        },
      },
    );
}

/** Queues a Turn. @throws what refuses it before it is queued */
function invoke(
  { agent, queue, providers, defaultRoute }: InvocationServices,
  invocationId: string,
  input: string,
  route: Route = defaultRoute,
): { readonly turn: LiveTurn; readonly answer: Promise<Answer> } {
  const provider = providers.resolve(route);
  const turn = agent.live.followTurn();
  const { answer } = queue.enqueue(invocationId, async (signal) => {
    turn.begin();
    try {
      return await agent.run(input, provider, route, signal);
    } finally {
      turn.end();
    }
  });
  const answered = async (): Promise<Answer> => {
    try {
      const result = await answer;
      assertAnswered(result);
      const { turn, steps, reason, message, usage } = result;
      return { invocationId, sessionId: agent.session.id, turn, steps, reason, message, usage };
    } finally {
      // One that was refused while it waited has no Turn.
      turn.end();
    }
  };
  return { turn, answer: answered() };
}

/** The last event of a stream: what the plain answer would have been. Never rejects. */
async function lastEvent(answer: Promise<Answer>, report: (error: unknown) => void): Promise<string> {
  try {
    return serverSentEvent("done", JSON.stringify(answerSchema.parse(await answer)));
  } catch (error) {
    const problem = problemOf(error);
    if (isTrouble(error, problem)) report(error);
    return serverSentEvent("error", JSON.stringify(problem));
  }
}
