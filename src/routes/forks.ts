import { Elysia } from "elysia";
import { z } from "zod";
import type { Agents } from "../agent/agents.ts";
import { ForkBoundaryError } from "../agent/errors.ts";
import type { Session } from "../session/session.ts";
import { readJsonBody } from "./json-body.ts";
import { NotServedError } from "./not-served.ts";
import { problemResponses } from "./problem-responses.ts";
import { publicId } from "./public-id.ts";

export interface ForkServices {
  readonly agents: Agents;
  /** Makes the ids of forks that are sent without one. */
  readonly newId: () => string;
}

const bodySchema = z.strictObject({
  sessionId: publicId.optional(),
  boundary: z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
});

const answerSchema = z.object({
  sessionId: z.string(),
  header: z.looseObject({
    version: z.number(),
    id: z.string(),
    createdAt: z.number(),
    cwd: z.string().optional(),
    parentSession: z.string(),
    seedLength: z.number(),
  }),
  boundary: z.number(),
  nextSeq: z.number(),
});

/** `POST /sessions/{session_id}/forks`: a new session that begins with a copy of the active one. */
export function forkRoutes(session: Session, { agents, newId }: ForkServices) {
  return new Elysia({ name: "forks" }).post(
    "/sessions/:sessionId/forks",
    async ({ params: { sessionId }, body: { sessionId: newSessionId = newId(), boundary }, status }) => {
      if (sessionId !== session.id) throw new NotServedError(sessionId);
      // It is there, though the store has nothing of it yet.
      if (session.log.length === 0) throw new ForkBoundaryError(sessionId, boundary);
      const place = boundary === undefined ? {} : { boundary };
      // Stored, and no more: this Host goes on with the session that it has.
      const fork = await agents.storeFork({ sessionId, newSessionId, ...place });
      const { id, seedLength } = fork.header;
      return status(201, { sessionId: id, ...fork, nextSeq: seedLength + 1 });
    },
    {
      params: z.object({ sessionId: z.string() }),
      // The second one is never reached; the OpenAPI document takes the media type from it.
      parse: [({ request }) => readJsonBody(request), "json"],
      body: bodySchema,
      response: { 201: answerSchema },
      detail: {
        summary: "Fork the active session",
        description:
          "Stores a new session that begins with a copy of this one, up to the `turn/end` at `boundary` or else the last one. This Host does not serve it: `holdfast serve --session-id` goes on with it.",
        responses: {
          201: { description: "The new session" },
          ...problemResponses(
            ...["invalid-request", "not-found", "already-exists", "fork-boundary", "too-large"],
            ...["unsupported-media-type", "corrupt", "storage-failed", "closed", "storage-full"],
          ),
        },
      },
    },
  );
}
