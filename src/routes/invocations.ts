import { Elysia } from "elysia";
import { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import { ClosingError, InvocationCancelledError, UnknownInvocationError } from "../agent/errors.ts";
import type { InvocationQueue } from "../agent/invocations.ts";
import type { ProviderRegistry, Route } from "../agent/providers/registry.ts";
import type { TurnResult } from "../agent/turn.ts";
import { readJsonBody } from "./json-body.ts";

export interface InvocationServices {
  readonly agent: Agent;
  readonly queue: InvocationQueue;
  readonly providers: ProviderRegistry;
  /** Route of invocations that name none. */
  readonly defaultRoute: Route;
}

const paramsSchema = z.object({
  invocationId: z.string().regex(/^[A-Za-z0-9._~-]{1,200}$/, "1 to 200 letters, digits, or . _ ~ -"),
});

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

/** `POST` and `DELETE /agent/invocations/{invocation_id}`: run one Turn, cancel one. */
export function invocationRoutes({ agent, queue, providers, defaultRoute }: InvocationServices) {
  return new Elysia({ name: "invocations" })
    .post(
      "/agent/invocations/:invocationId",
      async ({ params: { invocationId }, body: { input, route = defaultRoute } }) => {
        const provider = providers.resolve(route);
        const result = await queue.submit(invocationId, (signal) =>
          agent.run(input, provider, route, signal),
        );
        assertAnswered(result);
        const { turn, steps, reason, message, usage } = result;
        return { invocationId, sessionId: agent.session.id, turn, steps, reason, message, usage };
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
            "Queued in the order of arrival. The answer comes when the end of the Turn is durable. A client that goes away does not cancel it.",
          responses: {
            400: { description: "`invalid-request`" },
            409: { description: "`invocation-duplicate` or `invocation-cancelled`" },
            413: { description: "`too-large`" },
            415: { description: "`unsupported-media-type`" },
            502: { description: "`provider-…`" },
            503: { description: "`no-route`, `queue-full` or `closing`" },
            504: { description: "`provider-timeout`" },
            507: { description: "`storage-full`" },
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
            400: { description: "`invalid-request`" },
            404: { description: "`invocation-unknown`: never sent, or settled" },
          },
        },
      },
    );
}

/** Turns the ways a Turn can end without an answer into errors. A Turn that used up its Steps counts as answered. */
function assertAnswered({ reason, failure }: TurnResult): void {
  if (reason.kind === "aborted") {
    throw reason.reason.kind === "disposed" ? new ClosingError() : new InvocationCancelledError();
  }
  if (failure !== undefined && failure.code !== "max-steps") throw failure;
}
