import { Elysia } from "elysia";
import { z } from "zod";
import { serialiseHeader } from "../session/header.ts";
import type { Session } from "../session/session.ts";
import { NotFoundError } from "../store/errors.ts";

/** Characters gathered before they are sent. */
const CHUNK = 64 * 1024;

/** `GET /sessions/{session_id}`: the active session; any other id is not found. */
export function sessionRoutes({ session }: { readonly session: Session }) {
  return new Elysia({ name: "sessions" }).get(
    "/sessions/:sessionId",
    ({ params: { sessionId } }) => {
      if (sessionId !== session.id) throw new NotFoundError(sessionId);
      return streamSession(session);
    },
    {
      params: z.object({ sessionId: z.string() }),
      detail: {
        summary: "Read the active session",
        description:
          "`sessionId`, `header`, `nextSeq`, `events` (every durable event, as stored) and `transcript` (the conversation as a person reads it).",
        responses: {
          200: {
            description: "The session",
            content: { "application/json": { schema: { type: "object" } } },
          },
          404: { description: "`not-found`: another id" },
        },
      },
    },
  );
}

/** The session as of now, written a piece at a time: the stored texts go out as they are, and never as one string. */
function streamSession(session: Session): Response {
  const pieces = gather(sessionJson(session));
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Bun asks for piece after piece without a pause; other requests and timers get their turn in between.
        await new Promise((resolve) => setImmediate(resolve));
        const next = pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: { "content-type": "application/json" } });
}

function* sessionJson(session: Session): Generator<string> {
  const log = session.log.snapshot();
  const { projections } = session;
  yield `{"sessionId":${JSON.stringify(session.id)},"header":${serialiseHeader(session.header)},"nextSeq":${log.length},"events":[`;
  yield* joined(log.texts());
  yield '],"transcript":[';
  yield* joined(map(projections.transcript(log), (entry) => JSON.stringify(entry)));
  yield "]}";
}

function* joined(texts: Iterable<string>): Generator<string> {
  let separator = "";
  for (const text of texts) {
    yield separator + text;
    separator = ",";
  }
}

function* map<T, U>(items: Iterable<T>, each: (item: T) => U): Generator<U> {
  for (const item of items) yield each(item);
}

function* gather(pieces: Iterable<string>): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  let waiting: string[] = [];
  let size = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    size += piece.length;
    if (size < CHUNK) continue;
    yield encoder.encode(waiting.join(""));
    waiting = [];
    size = 0;
  }
  yield encoder.encode(waiting.join(""));
}
