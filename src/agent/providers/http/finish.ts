import { badResponse } from "./errors.ts";

export type FinishKind = "stop" | "tool-calls" | "max-tokens";

/**
 * How an answer ended, by its reason and by the calls in it: some servers say "stop" although they ask for tools.
 *
 * @throws ProviderError when calls were announced and none came
 */
export function finishKind(kind: FinishKind, calls: number): FinishKind {
  if (kind === "stop" && calls > 0) return "tool-calls";
  if (kind === "tool-calls" && calls === 0) {
    throw badResponse("The provider announced tool calls and sent none");
  }
  return kind;
}
