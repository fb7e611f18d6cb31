import type { TranscriptEntry } from "../../session/projections/index.ts";
import { printable, printableLine } from "../printable.ts";
import { describeEnd } from "./show/told.ts";

/*
 * Entries of a transcript by themselves, each with its Turn, and whole. What was said is indented, and only what Holdfast
 * itself says begins a line, so that no text in a log can pass for the next message.
 */

/** One entry, with an empty line before it. */
export function entryText(entry: TranscriptEntry): string {
  const { turn } = entry;
  switch (entry.kind) {
    case "user":
      return block(`Turn ${turn}, user`, entry.text);
    case "tool": {
      const outcome = entry.ok ? "" : ` failed${entry.error === undefined ? "" : ` (${entry.error.code})`}`;
      return block(`Turn ${turn}, step ${entry.step}, tool ${entry.name}${outcome}`, entry.text);
    }
    case "turn-end":
      return block(`Turn ${turn} ended: ${describeEnd(entry.reason)}`, "");
    case "assistant": {
      const title = `Turn ${turn}, step ${entry.step}, assistant${entry.interrupted === true ? ", interrupted" : ""}`;
      const reasoning = entry.reasoning === undefined ? "" : `(reasoning)\n${entry.reasoning}\n(answer)`;
      const calls = entry.toolCalls.map((call) => `(calls) ${call.name} ${call.arguments}`);
      return block(title, [reasoning, entry.text, ...calls].filter((part) => part !== "").join("\n"));
    }
  }
}

function block(title: string, text: string): string {
  const lines = text === "" ? [] : printable(text.replace(/\s+$/, "")).split("\n");
  return ["", printableLine(title), ...lines.map((line) => (line === "" ? "" : `  ${line}`)), ""].join("\n");
}
