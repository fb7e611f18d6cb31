import type { TranscriptEntry } from "../../session/projections/index.ts";
import { printable, printableLine } from "../printable.ts";
import type { SessionReading } from "./read-session.ts";
import { formatTime } from "./table.ts";

/*
 * A session as a person reads it. What was said is indented, and only what Holdfast itself says begins a line, so that
 * no text in a log can pass for the next message.
 */

/** The lines above a transcript. */
export function headText({ header, events }: SessionReading): string {
  const { id, createdAt, cwd, parentSession } = header;
  const parts = [
    `Session ${printableLine(id)}`,
    `created ${formatTime(createdAt)}`,
    ...(cwd === undefined ? [] : [`in ${printableLine(cwd)}`]),
    ...(parentSession === undefined ? [] : [`forked from ${printableLine(parentSession)}`]),
    `${events} ${events === 1 ? "event" : "events"}`,
  ];
  return `${parts.join(", ")}\n`;
}

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

function describeEnd(reason: Extract<TranscriptEntry, { kind: "turn-end" }>["reason"]): string {
  if (reason.kind === "error") return `error, ${reason.error.message} (${reason.error.code})`;
  return reason.kind === "aborted" ? `aborted by ${reason.reason.kind}` : reason.kind;
}

/** The lines below a transcript. */
export function tailText({ usage }: SessionReading): string {
  const { inputTokens, outputTokens } = usage;
  return inputTokens + outputTokens === 0 ? "" : `\nTokens: ${inputTokens} in, ${outputTokens} out\n`;
}

function block(title: string, text: string): string {
  const lines = text === "" ? [] : printable(text.replace(/\s+$/, "")).split("\n");
  return ["", printableLine(title), ...lines.map((line) => (line === "" ? "" : `  ${line}`)), ""].join("\n");
}
