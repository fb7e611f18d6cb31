import { z } from "zod";
import type { AssistantMessage } from "../../../session/events.ts";
import { findJsonFault, isJsonObject, type JsonObject } from "../../../session/json.ts";

/** The name in routes and in the source of messages. */
export const PROVIDER_NAME = "openai-compatible";

/** What servers call the reasoning of an answer. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

/**
 * What servers want back with a message and its content does not hold, as `replayState` of the answer keeps it: DeepSeek and
 * others refuse a history with calls whose reasoning is missing, Gemini one whose calls have lost their signature.
 */
const replaySchema = z.object({
  /** Length of the content that this belongs to. */
  blocks: z.number().int().nonnegative(),
  /** The member that the reasoning came in. */
  reasoning: z.enum(REASONING_FIELDS).optional(),
  /** What came with calls as `extra_content`, by the position of the call. */
  calls: z
    .array(z.object({ block: z.number().int().nonnegative(), extra: z.custom<JsonObject>(isExtra) }))
    .optional(),
});

export type Replay = z.infer<typeof replaySchema>;

/** Whether a value can be kept and sent back as it is. */
export function isExtra(value: unknown): value is JsonObject {
  return isJsonObject(value) && findJsonFault(value) === undefined;
}

/** The replay state of a message; undefined when it has none, when another model wrote it, or when it does not fit. */
export function replayOf({ source, content }: AssistantMessage, model: string): Replay | undefined {
  if (source.provider !== PROVIDER_NAME || source.model !== model) return undefined;
  const replay = replaySchema.safeParse(source["replayState"]).data;
  return replay?.blocks === content.length ? replay : undefined;
}
