/*
 * The words that make an event what it is (docs/format.md). Masked, it could not be read any more; and they are in every
 * log, so that nothing is told by them.
 */

/** Names of members. */
const NAMES = new Set(
  (
    "type seq time data ignorable sourceEventSeqs surfaceOp op start end turn step reason kind error message code status " +
    "providerRetryAfterMs requestId trigger id role content source chunk index blockType block text name arguments " +
    "argumentsDelta usage inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens replayState failure " +
    "interrupted provider model callId toolCallId isError attachment meta header config reasoningEffort temperature " +
    "maxTokens stop adapterDefaults system tools contextWindow provenance title version createdAt cwd parentSession " +
    "seedLength origin delegationDepth agentPreset"
  ).split(" "),
);

/** Members whose text is one of the {@link WORDS}. */
const KINDS = new Set(["type", "role", "kind", "blockType", "surfaceOp", "op", "reason", "origin"]);
const WORDS = new Set(
  (
    "text reasoning tool-call tool-result image block-start text-delta reasoning-delta tool-call-delta block-end usage " +
    "finish user assistant model tool hook completed blocked max-tokens interrupted aborted error parent disposed legacy " +
    "stop tool-calls append replace initial resume change subagent session"
  ).split(" "),
);

/** Whether the format has a member of this name; other names may be data themselves. */
export function isFormatName(name: string): boolean {
  return NAMES.has(name);
}

/** Whether this text of a member is a word of the format. */
export function isFormatWord(name: string, text: string): boolean {
  return KINDS.has(name) && WORDS.has(text);
}
