import type { SessionRecord } from "../../../../session/records.ts";
import { printable, printableLine } from "../../../printable.ts";
import { formatTime } from "../../list/table.ts";
import type { ContentsEntry, ExportedHead, ExportedTail, ExportFormat, Mask } from "./format.ts";
import { headingOf, isShown, type ShownEvent, ShownEvents, tailFacts, timeOf } from "./shown.ts";

/**
 * Markdown for people. All that a log says stands in fences and code spans that it cannot leave: nothing of it is a
 * heading, a link or an image.
 */
export class MarkdownFormat implements ExportFormat {
  readonly needsFacts = true;
  readonly #mask: Mask;
  #shown: ShownEvents;
  #hasContents = false;
  #sessions = 0;

  /** @param mask gives what stands for a text of an answer that was cut off */
  constructor(mask: Mask) {
    this.#mask = mask;
    this.#shown = new ShownEvents(mask);
  }

  shows(record: SessionRecord): boolean {
    return isShown(record);
  }

  begin(contents: readonly ContentsEntry[]): string {
    this.#hasContents = contents.length > 1;
    if (!this.#hasContents) return "";
    const lines = contents.map(
      ({ id, title }, k) =>
        `${k + 1}. [Session ${codeSpan(id)}](#session-${k + 1})${title === undefined ? "" : `: ${codeSpan(title)}`}\n`,
    );
    return `# ${contents.length} sessions\n\n${lines.join("")}\n`;
  }

  beginSession({ header, facts: told }: ExportedHead): string {
    this.#shown = new ShownEvents(this.#mask, told);
    const before = this.#sessions === 0 ? "" : "\n";
    this.#sessions += 1;
    // Headings are named in another way by each program that shows Markdown.
    const target = this.#hasContents ? `<a id="session-${this.#sessions}"></a>\n\n` : "";
    const { id, createdAt, cwd, parentSession } = header;
    const { title, model } = told;
    const heading = `# Session ${codeSpan(id)}${title === undefined ? "" : `: ${codeSpan(title)}`}`;
    const facts = [
      `created ${formatTime(createdAt)}`,
      ...(cwd === undefined ? [] : [`in ${codeSpan(cwd)}`]),
      ...(parentSession === undefined ? [] : [`forked from ${codeSpan(parentSession)}`]),
      ...(model === undefined ? [] : [`model ${codeSpan(model)}`]),
    ];
    return `${before}${target}${heading}\n\n${facts.map((fact) => `- ${fact}\n`).join("")}`;
  }

  event(record: SessionRecord): string {
    return this.#shown.take(record).map(textOf).join("");
  }

  pass(record: SessionRecord): void {
    this.#shown.pass(record);
  }

  rest(): string {
    return this.#shown.rest().map(textOf).join("");
  }

  endSession(tail: ExportedTail): string {
    const facts = tailFacts(tail, this.#shown.tokens);
    return `\n---\n\n${facts.map((fact) => `- ${fact}\n`).join("")}`;
  }

  end(): string {
    return "";
  }
}

function textOf(shown: ShownEvent): string {
  switch (shown.kind) {
    case "change":
      return `\n${shown.name}: ${codeSpan(shown.text)}\n`;
    case "turn-end": {
      const { turn, time, failure, facts } = shown;
      if (failure === undefined) return `\nTurn ${turn} ended${facts === "" ? "" : ` ${facts}`}\n`;
      return `\n## Turn ${turn} ended\n\n${formatTime(time)}${facts === "" ? "" : `, ${facts}`}\n${fence(failure)}`;
    }
    case "entry": {
      const { entry } = shown;
      const tool = entry.kind === "tool" ? ` ${codeSpan(entry.name)}` : "";
      return `\n## ${headingOf(shown)}${tool}\n\n${timeOf(shown)}\n${blocksOf(entry).join("")}`;
    }
  }
}

function blocksOf(entry: Extract<ShownEvent, { kind: "entry" }>["entry"]): string[] {
  switch (entry.kind) {
    case "user":
      return [fence(entry.text)];
    case "tool":
      return [
        ...(entry.error === undefined ? [] : [`\nError: ${codeSpan(entry.error.code)}\n`]),
        fence(entry.text),
      ];
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
