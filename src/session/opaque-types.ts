/**
 * Event types that Holdfast knows but does not interpret: kept and shown as they are, without effect on history.
 * A name that ends in `*` covers every type that starts with what stands before it. Adding a line is all it takes.
 */
export const OPAQUE_TYPES: readonly string[] = [
  "agent/inbox/spliced",
  "session/title",
  "session/title-llm-request",
  "permission/preset",
  "sandbox/mode",
  "approval/policy",
  "approval/asked",
  "approval/decided",
  "goal/change",
  "plan/mode",
  "todo/write",
  "command/run",
  "command/done",
  "hook/invoked",
  "hook/result",
  "llm/retry",
  "llm/retry-started",
  "compaction/start",
  "compaction/summary",
  "compaction/prune",
  "compaction/end",
  "subagent/*",
  "tool/code-dispatch*",
  "tool-workflow/*",
  "agent-preset/selected",
  "feedback/record",
  "schedule/change",
  "team/member",
  "team/message/delivered",
  "team/message/queued",
  "team/task",
  "web/deepseek-search-llm-request",
];

const exact = new Set(OPAQUE_TYPES.filter((name) => !name.endsWith("*")));
const prefixes = OPAQUE_TYPES.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));

/** Whether `type` is in the table of opaque types. */
export function isOpaqueType(type: string): boolean {
  return exact.has(type) || prefixes.some((prefix) => type.startsWith(prefix));
}
