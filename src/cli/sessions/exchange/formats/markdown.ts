import type { TranscriptEntry } from "../../../../session/projections/index.ts";
import type { SessionRecord } from "../../../../session/records.ts";
import { TORN_END } from "../../../../store/finding.ts";
import { printable, printableLine } from "../../../printable.ts";
import { formatTime } from "../../list/table.ts";
import type { ExportedHead, ExportedTail, ExportFormat, Mask } from "./format.ts";
import { countedEvents, describeEnd, headingOf, isShown, type ShownEvent, ShownEvents } from "./shown.ts";

/**
 * Markdown for people. All that a log says stands in fences and code spans that it cannot leave: nothing of it is a
 * heading, a link or an image.
 */
export class MarkdownFormat implements ExportFormat {
  readonly #mask: Mask;
  #shown: ShownEvents;
  #isFirst = true;

  /** @param mask gives what stands for a text of an answer that was cut off */
  constructor(mask: Mask) {
    this.#mask = mask;
    this.#shown = new ShownEvents(mask);
  }

  shows(record: SessionRecord): boolean {
    return isShown(record);
  }

  begin(): string {
    return "";
  }

  beginSession({ header }: ExportedHead): string {
    this.#shown = new ShownEvents(this.#mask);
    const before = this.#isFirst ? "" : "\n";
    this.#isFirst = false;
    const { id, createdAt, cwd, parentSession } = header;
    const facts = [
      `created ${formatTime(createdAt)}`,
      ...(cwd === undefined ? [] : [`in ${codeSpan(cwd)}`]),
      ...(parentSession === undefined ? [] : [`forked from ${codeSpan(parentSession)}`]),
    ];
    return `${before}# Session ${codeSpan(id)}\n\n${facts.map((fact) => `- ${fact}\n`).join("")}`;
  }

  event(record: SessionRecord): string {
    return textOf(this.#shown.take(record));
  }

  pass(record: SessionRecord): void {
    this.#shown.pass(record);
  }

  rest(): string {
    return textOf(this.#shown.rest());
  }

  endSession({ events, digest, torn, masked }: ExportedTail): string {
    const { input, output } = this.#shown.tokens;
    const facts = [
      `${countedEvents(events)}, sha256 ${digest}`,
      ...(input + output === 0 ? [] : [`tokens: ${input} in, ${output} out`]),
      ...(torn ? [`the ${TORN_END}; that piece is left out`] : []),
      ...(masked === undefined ? [] : [`places masked: ${masked}`]),
    ];
    return `\n---\n\n${facts.map((fact) => `- ${fact}\n`).join("")}`;
  }

  end(): string {
    return "";
  }
}

function textOf(shown: ShownEvent | undefined): string {
  if (shown === undefined) return "";
  if (shown.kind === "title") return `\nTitle: ${codeSpan(shown.title)}\n`;
  const { entry, time } = shown;
  const tool = entry.kind === "tool" ? ` ${codeSpan(entry.name)}` : "";
  return `\n## ${headingOf(shown)}${tool}\n\n${formatTime(time)}\n${blocksOf(entry).join("")}`;
}

function blocksOf(entry: TranscriptEntry): string[] {
  switch (entry.kind) {
    case "user":
      return [fence(entry.text)];
    case "tool":
      return [
        ...(entry.error === undefined ? [] : [`\nError: ${codeSpan(entry.error.code)}\n`]),
        fence(entry.text),
      ];
    case "turn-end":
      return [fence(describeEnd(entry))];
    case "assistant": {
      const { reasoning, text, toolCalls } = entry;
      return [
        ...(reasoning === undefined
          ? []
          : [`\n<details><summary>Reasoning</summary>\n${fence(reasoning)}\n</details>\n`]),
        ...(text === "" ? [] : [fence(text)]),
        ...toolCalls.map((call) => `\nCalls ${codeSpan(call.name)}\n${fence(call.arguments)}`),
      ];
    }
  }
}

/** A block that ends where it should: its fence is longer than any in the text. */
function fence(text: string): string {
  const shown = printable(text.trimEnd());
  const marks = "`".repeat(Math.max(3, longestRun(shown) + 1));
  return `\n${marks}text\n${shown}\n${marks}\n`;
}

/** A text on one line that Markdown leaves as it is. */
function codeSpan(text: string): string {
  const shown = printableLine(text);
  if (shown === "") return "(empty)";
  const marks = "`".repeat(longestRun(shown) + 1);
  // Spaces keep the marks apart from those of the text; one on each side is not shown.
  return marks.length > 1 || /^ .* $/.test(shown) ? `${marks} ${shown} ${marks}` : `${marks}${shown}${marks}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
