import type { Chunk, ContentBlock } from "../../src/session/events.ts";
import type { AnswerPlan } from "./answer-plan.ts";

/** The chunks of a whole answer. */
export function allChunks({ items, closing, ending }: AnswerPlan): readonly Chunk[] {
  const sent = items.flatMap(({ chunks }) => chunks);
  return ending === "complete" ? [...sent, ...closing] : sent;
}

/** How many of them the first items of the answer become. */
export function chunkCount({ items, closing, ending }: AnswerPlan, sent: number): number {
  const count = items.slice(0, sent).reduce((sum, { chunks }) => sum + chunks.length, 0);
  return ending === "complete" && sent === items.length ? count + closing.length : count;
}

/** What was said in an answer of which only these chunks came: no calls, since none of them was made. */
export function spokenContent(chunks: readonly Chunk[]): ContentBlock[] {
  const blocks = new Map<number, { type: "text" | "reasoning"; text: string }>();
  for (const chunk of chunks) {
    if (chunk.type !== "text-delta" && chunk.type !== "reasoning-delta") continue;
    const type = chunk.type === "text-delta" ? "text" : "reasoning";
    const block = blocks.get(chunk.index) ?? { type, text: "" };
    block.text += chunk.text;
    blocks.set(chunk.index, block);
  }
  return [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
}
