import { Elysia } from "elysia";
import type { Session } from "../session/session.ts";
import { NotServedError } from "./not-served.ts";
import { problemResponses } from "./problem-responses.ts";
import { SessionReads } from "./session-reads.ts";

/** `GET /sessions/{session_id}`: the active session; any other id is not found. */
export function sessionRoutes({ session }: { readonly session: Session }) {
  const reads = new SessionReads(session);
  return new Elysia({ name: "sessions" }).get(
    "/sessions/:sessionId",
    ({ params: { sessionId } }) => {
      if (sessionId !== session.id) throw new NotServedError(sessionId);
      return reads.read();
    },
    {
      // Any id is looked up; a schema would only make the answer wait.
      detail: {
        summary: "Read the active session",
        parameters: [{ name: "sessionId", in: "path", required: true, schema: { type: "string" } }],
        description:
          "`sessionId`, `header`, `nextSeq`, `usage` (tokens of the whole session), `events` (every durable event, as stored) and `transcript` (the conversation as a person reads it).",
        responses: {
          200: {
            description: "The session",
            content: { "application/json": { schema: { type: "object" } } },
          },
          ...problemResponses("not-found"),
        },
      },
    },
  );
}
