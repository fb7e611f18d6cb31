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
  // Gemini's signature of a call.
  extra_content: z.unknown().optional(),
});

/** Mistral's content in parts; others than these, such as references, are no words. */
const partSchema = z.object({
  type: z.string().nullish(),
  text: z.string().nullish(),
  thinking: z
    .union([z.string(), z.array(z.object({ text: z.string().nullish() }))])
    .nullish()
    .catch(null),
});

const deltaSchema = z.object({
  content: z.union([z.string(), z.array(partSchema)]).nullish(),
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

/** The words of a delta in order. A delta without any has none, or empty ones. */
export function proseOf(delta: WireDelta): ReadonlyArray<readonly ["reasoning" | "text", string]> {
  const reasoning = delta.reasoning_content || delta.reasoning || "";
  const { content, refusal } = delta;
  const parts = Array.isArray(content) ? content : [{ type: "text", text: content || refusal }];
  return [["reasoning", reasoning], ...parts.map(proseOfPart)];
}

function proseOfPart({
  type,
  text,
  thinking,
}: z.infer<typeof partSchema>): readonly ["reasoning" | "text", string] {
  if (type !== "thinking") return ["text", type === "text" ? (text ?? "") : ""];
  const words = Array.isArray(thinking) ? thinking.map((part) => part.text ?? "").join("") : thinking;
  return ["reasoning", words ?? text ?? ""];
}

export type WireUsage = z.infer<typeof usageSchema>;
export type WireDelta = z.infer<typeof deltaSchema>;
export type ToolCallFragment = z.infer<typeof toolCallFragmentSchema>;
