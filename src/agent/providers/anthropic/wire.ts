import { z } from "zod";

/*
 * What is read of the events of a Messages stream. Members that are not named here are ignored, absent and null are the
 * same, and a usage that makes no sense is as good as none: it must not cost the answer.
 */

const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).nullish().catch(null);
const index = z.number().int().nonnegative();

export const usageSchema = z.object({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count,
  output_tokens_details: z.object({ thinking_tokens: count }).nullish().catch(null),
});

const blockStart = z.looseObject({ type: z.string() });

const delta = z.object({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  signature: z.string().nullish(),
  partial_json: z.string().nullish(),
});

const messageDelta = z.object({
  stop_reason: z.string().nullish(),
  stop_details: z
    .object({ category: z.string().nullish(), explanation: z.string().nullish() })
    .nullish()
    .catch(null),
});

/** The events that carry an answer, by their type. Others are not for us. */
export const eventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message_start"),
    message: z.object({ usage: usageSchema.nullish().catch(null) }).nullish(),
  }),
  z.object({ type: z.literal("content_block_start"), index, content_block: blockStart }),
  z.object({ type: z.literal("content_block_delta"), index, delta }),
  z.object({ type: z.literal("content_block_stop"), index }),
  z.object({
    type: z.literal("message_delta"),
    delta: messageDelta.nullish(),
    usage: usageSchema.nullish().catch(null),
  }),
  z.object({ type: z.literal("message_stop") }),
]);

/** The beginnings of the blocks that become content. */
export const textStart = z.object({ text: z.string().nullish() });
export const thinkingStart = z.object({ thinking: z.string().nullish(), signature: z.string().nullish() });
export const toolUseStart = z.object({
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
});

export type WireEvent = z.infer<typeof eventSchema>;
export type WireUsage = z.infer<typeof usageSchema>;
export type WireDelta = z.infer<typeof delta>;
export type WireBlockStart = z.infer<typeof blockStart>;
export type StopDetails = z.infer<typeof messageDelta>["stop_details"];
