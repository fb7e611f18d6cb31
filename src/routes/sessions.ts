import { Elysia } from "elysia";
import { z } from "zod";
import type { Session } from "../session/session.ts";
import type { ByteSource } from "../session/text-bytes.ts";
import { breathe } from "../store/breathe.ts";
import { NotFoundError } from "../store/errors.ts";
import { problemResponses } from "./problem-responses.ts";
import { SessionBytes } from "./session-bytes.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** `GET /sessions/{session_id}`: the active session; any other id is not found. */
export function sessionRoutes({ session }: { readonly session: Session }) {
  return new Elysia({ name: "sessions" }).get(
    "/sessions/:sessionId",
    ({ params: { sessionId } }) => {
      if (sessionId !== session.id) throw new NotFoundError(sessionId);
      return jsonResponse(new SessionBytes(session));
    },
    {
      params: z.object({ sessionId: z.string() }),
      detail: {
        summary: "Read the active session",
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

const PIECE = 64 * 1024;

/** What fits into one piece goes out whole; anything longer a piece at a time, when the client has room for it. */
function jsonResponse(source: ByteSource): Response {
  const bytes = new Uint8Array(PIECE);
  const length = source.fill(bytes, 0);
  const first = bytes.subarray(0, length);
  return new Response(source.isDone ? first : streamFrom(source, bytes, length), { headers: JSON_TYPE });
}

/** `bytes`, of which the first `length` are already filled, holds piece after piece: what is written out was copied. */
function streamFrom(source: ByteSource, bytes: Uint8Array, length: number): ReadableStream {
  let isOpen = true;
  return new ReadableStream({
    type: "direct",
    async pull(controller) {
      for (let filled = length; filled > 0 && isOpen; filled = source.isDone ? 0 : source.fill(bytes, 0)) {
        await controller.write(bytes.subarray(0, filled));
        // Other requests and timers get their turn in between.
        await breathe();
      }
      controller.close();
    },
    cancel() {
      isOpen = false;
    },
  });
}
