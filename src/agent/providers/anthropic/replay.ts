import type { ContentBlockParam } from "@anthropic-ai/sdk/resources/messages";
import { z } from "zod";
import type { AssistantMessage, ContentBlock } from "../../../session/events.ts";
import { findJsonFault, type JsonObject } from "../../../session/json.ts";

/** The name in routes and in the source of messages. */
export const PROVIDER_NAME = "anthropic";

/**
 * What the API wants back with a message and its content does not hold, as `replayState` of the answer keeps it: the
 * signatures of thinking, and blocks that nobody but the API reads. Positions count the message's content.
 */
const replaySchema = z.object({
  /** Length of the content that this belongs to. */
  blocks: z.number().int().nonnegative(),
  signatures: z.array(z.object({ block: z.number().int().nonnegative(), signature: z.string().min(1) })),
  /** Blocks as they came, each before the content at `before`, or after all of it. */
  hidden: z.array(
    z.object({
      before: z.number().int().nonnegative(),
      // As the API sent it, or it refuses the request.
      block: z.custom<ContentBlockParam>(isBlock),
    }),
  ),
});

export type Replay = z.infer<typeof replaySchema>;

/** What {@link Replay} is made of while an answer comes in. */
export interface ReplayParts {
  readonly signatures: Array<{ readonly block: number; readonly signature: string }>;
  readonly hidden: Array<{ readonly before: number; readonly block: JsonObject }>;
}

function isBlock(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    findJsonFault(value) === undefined
  );
}

/** The replay state of a message; undefined when it has none, when another model wrote it, or when it does not fit. */
export function replayOf(message: AssistantMessage, model: string): Replay | undefined {
  const { source, content } = message;
  if (source.provider !== PROVIDER_NAME || source.model !== model) return undefined;
  const replay = replaySchema.safeParse(source["replayState"]).data;
  return replay !== undefined && fits(replay, content) ? replay : undefined;
}

function fits({ blocks, signatures, hidden }: Replay, content: readonly ContentBlock[]): boolean {
  return (
    blocks === content.length &&
    signatures.every(({ block }) => content[block]?.type === "reasoning") &&
    hidden.every(({ before }) => before <= content.length)
  );
}
