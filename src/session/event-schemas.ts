import { z } from "zod";

/*
 * The strict event types of version 0 (docs/format.md). Unknown extra keys are kept; a missing or mistyped required
 * key is an error. Optional members are checked where they are present.
 */

let schemas: ReturnType<typeof build> | undefined;

/**
 * `data`: the schema of `data` for every strict type; `envelope`: of what is around it; beside them the parts that have a
 * type of their own. Made when they
 * are asked for: that takes longer than all else that a start needs of this program's own code.
 */
export function eventSchemas(): ReturnType<typeof build> {
  schemas ??= build();
  return schemas;
}

/** Names of the strict types. */
export const STRICT_TYPES = [
  "turn/start",
  "turn/end",
  "step/start",
  "step/end",
  "user/message",
  "assistant/chunk",
  "assistant/message",
  "tool/call",
  "tool/result",
  "request/header",
  "request/context",
  "session/end-seed",
] as const;

function build() {
  const natural = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
  const turn = natural;
  const step = natural;

  const usageSchema = z.looseObject({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cacheReadTokens: z.number().exactOptional(),
    cacheWriteTokens: z.number().exactOptional(),
    reasoningTokens: z.number().exactOptional(),
  });

  const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
  const reasoningBlock = z.looseObject({ type: z.literal("reasoning"), text: z.string() });
  const toolCallBlock = z.looseObject({
    type: z.literal("tool-call"),
    id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
  });
  const imageBlock = z.looseObject({ type: z.literal("image"), attachment: z.unknown() });
  const toolResultBlock = z.looseObject({
    type: z.literal("tool-result"),
    toolCallId: z.string().min(1),
    content: z.array(z.discriminatedUnion("type", [textBlock, imageBlock])),
    isError: z.boolean().exactOptional(),
  });

  const contentBlockSchema = z.discriminatedUnion("type", [
    textBlock,
    reasoningBlock,
    toolCallBlock,
    toolResultBlock,
    imageBlock,
  ]);

  const userMessageSchema = z.looseObject({
    // Absent in older logs, which get `legacy-message:<session>:<seq>` when they are read.
    id: z.string().exactOptional(),
    role: z.literal("user"),
    content: z.array(contentBlockSchema),
    source: z.looseObject({ kind: z.string().min(1) }),
  });

  const assistantMessageSchema = z.looseObject({
    id: z.string().exactOptional(),
    role: z.literal("assistant"),
    content: z.array(contentBlockSchema),
    source: z.looseObject({ kind: z.literal("model"), provider: z.string(), model: z.string() }),
  });

  const toolMessageSchema = z
    .looseObject({
      id: z.string().exactOptional(),
      role: z.literal("user"),
      content: z.tuple([toolResultBlock]),
      source: z.looseObject({ kind: z.literal("tool"), callId: z.string().min(1) }),
    })
    .refine((message) => message.content[0].toolCallId === message.source.callId, {
      path: ["content", 0, "toolCallId"],
      error: "the call id of the source",
    });

  const chunkSchema = z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("block-start"), index: natural, blockType: z.string() }),
    z.looseObject({ type: z.literal("text-delta"), index: natural, text: z.string() }),
    z.looseObject({ type: z.literal("reasoning-delta"), index: natural, text: z.string() }),
    z.looseObject({
      type: z.literal("tool-call-delta"),
      index: natural,
      id: z.string().min(1),
      name: z.string().exactOptional(),
      argumentsDelta: z.string(),
    }),
    z.looseObject({ type: z.literal("block-end"), index: natural, block: contentBlockSchema }),
    z.looseObject({ type: z.literal("usage"), usage: usageSchema }),
    z.looseObject({
      type: z.literal("finish"),
      reason: z.looseObject({ kind: z.enum(["stop", "tool-calls", "max-tokens", "aborted", "error"]) }),
      replayState: z.unknown().optional(),
    }),
  ]);

  const turnEndReasonSchema = z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("completed") }),
    z.looseObject({ kind: z.literal("blocked") }),
    z.looseObject({ kind: z.literal("max-tokens") }),
    z.looseObject({ kind: z.literal("interrupted") }),
    z.looseObject({
      kind: z.literal("aborted"),
      reason: z.looseObject({ kind: z.enum(["user", "parent", "disposed", "legacy", "hook"]) }),
    }),
    z.looseObject({
      kind: z.literal("error"),
      error: z.looseObject({ message: z.string(), code: z.string() }),
    }),
  ]);

  const requestHeaderSchema = z.looseObject({
    config: z.looseObject({
      provider: z.string().min(1),
      model: z.string().min(1),
      reasoningEffort: z.string().exactOptional(),
      temperature: z.number().exactOptional(),
      maxTokens: z.number().exactOptional(),
      stop: z.array(z.string()).exactOptional(),
    }),
    adapterDefaults: z.unknown().optional(),
    system: z.string().exactOptional(),
    // A list, but recorded logs also hold a placeholder text here.
    tools: z.unknown().exactOptional(),
  });

  const data = {
    "turn/start": z.looseObject({ turn }),
    "turn/end": z.looseObject({ turn, reason: turnEndReasonSchema }),
    "step/start": z.looseObject({ turn, step }),
    "step/end": z.looseObject({ turn, step }),
    "user/message": userMessageSchema,
    "assistant/chunk": z.looseObject({ turn, step, chunk: chunkSchema }),
    "assistant/message": z.looseObject({
      turn,
      step,
      message: assistantMessageSchema,
      usage: usageSchema.exactOptional(),
      interrupted: z.boolean().exactOptional(),
    }),
    "tool/call": z.looseObject({
      turn,
      step,
      callId: z.string().min(1),
      name: z.string().min(1),
      arguments: z.string(),
    }),
    "tool/result": z.looseObject({
      turn,
      step,
      message: toolMessageSchema,
      error: z.looseObject({ name: z.string(), code: z.string() }).exactOptional(),
      meta: z.unknown().optional(),
    }),
    "request/header": z.looseObject({
      header: requestHeaderSchema,
      reason: z.enum(["initial", "resume", "change"]),
    }),
    "request/context": z.looseObject({
      provider: z.string(),
      model: z.string(),
      contextWindow: z.number().exactOptional(),
    }),
    "session/end-seed": z.looseObject({}),
  } as const satisfies Record<(typeof STRICT_TYPES)[number], z.ZodType>;

  const surfaceOpSchema = z.union([
    z.literal("append"),
    z.strictObject({ op: z.literal("replace"), start: natural, end: natural }),
  ]);
  const envelope = z.looseObject({
    type: z.string().min(1),
    seq: natural,
    time: natural,
    data: z.unknown().refine((data) => data !== undefined, { error: "a value" }),
    ignorable: z.boolean().optional(),
    sourceEventSeqs: z.array(natural).optional(),
    surfaceOp: surfaceOpSchema.optional(),
  });

  return {
    data,
    envelope,
    contentBlock: contentBlockSchema,
    usage: usageSchema,
    requestHeader: requestHeaderSchema,
  };
}
