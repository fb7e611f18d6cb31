import { z } from "zod";

/*
 * What is read of a streamed chunk. Fields that are not named here are ignored, absent and null are the same, and a
 * usage that makes no sense is as good as none: it must not cost the answer.
 */

const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish().catch(null),
  // DeepSeek's name for cached tokens.
  prompt_cache_hit_tokens: count.nullish().catch(null),
  completion_tokens_details: z.object({ reasoning_tokens: count.nullish() }).nullish().catch(null),
});

const toolCallFragmentSchema = z.object({
  index: z.number().int().nonnegative().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});

const deltaSchema = z.object({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCallFragmentSchema).nullish(),
});

export const streamChunkSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.number().nullish(),
        delta: deltaSchema.nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: usageSchema.nullish().catch(null),
});

export type WireUsage = z.infer<typeof usageSchema>;
export type WireDelta = z.infer<typeof deltaSchema>;
export type ToolCallFragment = z.infer<typeof toolCallFragmentSchema>;
