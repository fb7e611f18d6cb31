import { Elysia } from "elysia";
import { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import type { LogView } from "../session/log-view.ts";
import { breathe } from "../store/breathe.ts";
import { prefersEventStream } from "./accept.ts";
import { eventStream, serverSentEvent } from "./event-stream.ts";
import { NotServedError } from "./not-served.ts";
import { problemResponses } from "./problem-responses.ts";
import { pullStream } from "./pull-stream.ts";
import { RequestError } from "./request-error.ts";

export interface SessionEventServices {
  readonly agent: Agent;
  readonly heartbeatMs: number;
  readonly report: (error: unknown, request: Request) => void;
}

const NDJSON = "application/x-ndjson";
/** Characters gathered before they are sent. */
const PIECE = 64 * 1024;

const seq = z.string().regex(/^(0|[1-9]\d{0,15})$/, "it must be the seq of an event");

/** `GET /sessions/{session_id}/events`: the events of the active session after a seq, once or as they happen. */
export function sessionEventRoutes({ agent, heartbeatMs, report }: SessionEventServices) {
  const { session, live } = agent;
  return new Elysia({ name: "session-events" }).get(
    "/sessions/:sessionId/events",
    ({
      params: { sessionId },
      query: { after },
      headers: { "last-event-id": lastEventId = "" },
      request,
    }) => {
      if (sessionId !== session.id) throw new NotServedError(sessionId);
      const from = firstSeq(lastEventId === "" ? after : lastEventId, session.log.length);
      if (!prefersEventStream(request.headers.get("accept"), NDJSON))
        return ndjson(session.log.snapshot(), from);
      const last = async () => serverSentEvent("end", JSON.stringify({ reason: "closing" }));
      const follower = live.follow(from);
      return eventStream({ follower, last, heartbeatMs, report: (error) => report(error, request) }, request);
    },
    {
      params: z.object({ sessionId: z.string() }),
      query: z.strictObject({ after: seq.optional() }),
      headers: z.looseObject({
        "last-event-id": seq.or(z.literal("")).optional(),
      }),
      detail: {
        summary: "Read or follow the events of the active session",
        description:
          "Events as stored, in seq order: those after `Last-Event-ID`, or else after `after`, or else all. As an event stream they go on live, with provisional deltas ahead of their commit, until the Host shuts down.",
        responses: {
          200: {
            description: "The events",
            content: {
              [NDJSON]: { schema: { type: "string" } },
              "text/event-stream": { schema: { type: "string" } },
            },
          },
          ...problemResponses("invalid-request", "not-found"),
        },
      },
    },
  );
}

/** Seq of the first event to send. A client that has seen more than there is holds another log. @throws RequestError */
function firstSeq(after: string | undefined, length: number): number {
  if (after === undefined) return 0;
  const from = Number(after) + 1;
  if (from <= length) return from;
  throw new RequestError(
    "invalid-request",
    `There is no event ${after}: the session has ${length} events.`,
    "Read the session again from its beginning.",
  );
}

function ndjson(log: LogView, from: number): Response {
  const lines = pieces(log, from);
  const body = pullStream(async () => {
    await breathe();
    return lines.next().value;
  });
  return new Response(body, { headers: { "content-type": NDJSON, vary: "accept" } });
}

function* pieces(log: LogView, from: number): Generator<string, undefined> {
  let piece = "";
  for (const text of log.texts(from)) {
    // A line end in JSON is white space.
    piece += `${/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, " ") : text}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
  return undefined;
}
