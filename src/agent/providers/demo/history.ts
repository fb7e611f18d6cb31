import type { ContentBlock, ModelMessage } from "../../../session/events.ts";

/** A tool call since the last input, with its result. */
export interface CallWithResult {
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

/** What the demo model reads of a history. */
export interface DemoHistory {
  /** Text of the last input. */
  readonly input: string;
  /** How many inputs a person has sent, this one included. */
  readonly inputs: number;
  /** Answered calls since the last input, in order. */
  readonly calls: readonly CallWithResult[];
  /** Every call id of the whole history. */
  readonly usedIds: ReadonlySet<string>;
}

export function readHistory(messages: readonly ModelMessage[]): DemoHistory {
  const usedIds = new Set<string>();
  const names = new Map<string, string>();
  let calls: CallWithResult[] = [];
  let input = "";
  let inputs = 0;
  for (const message of messages) {
    if (message.role === "user" && message.source.kind !== "tool") {
      input = joinText(message.content);
      if (message.source.kind === "user") inputs += 1;
      calls = [];
      continue;
    }
    for (const block of message.content) {
      if (block.type === "tool-call") {
        usedIds.add(block.id);
        names.set(block.id, block.name);
      } else if (block.type === "tool-result") {
        const name = names.get(block.toolCallId) ?? "";
        calls.push({ name, text: joinText(block.content), isError: block.isError === true });
      }
    }
  }
  return { input, inputs, calls, usedIds };
}

function joinText(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
