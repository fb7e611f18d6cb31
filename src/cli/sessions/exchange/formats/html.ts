import type { TranscriptEntry } from "../../../../session/projections/index.ts";
import type { SessionRecord } from "../../../../session/records.ts";
import { TORN_END } from "../../../../store/finding.ts";
import { printable, printableLine } from "../../../printable.ts";
import { formatTime } from "../../list/table.ts";
import type { ExportedHead, ExportedTail, ExportFormat, Mask } from "./format.ts";
import { countedEvents, describeEnd, headingOf, isShown, type ShownEvent, ShownEvents } from "./shown.ts";

const STYLE = `
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; font: .9rem/1.45 ui-monospace, monospace; }
article { border-left: .25rem solid #8888; padding: .25rem 1rem; margin: 1rem 0; }
article.user { border-color: #2a7de1; }
article.assistant { border-color: #2da44e; }
article.failed, article.turn-end { border-color: #cf222e; }
h2 { font-size: 1rem; margin: 0; }
time, .facts { opacity: .75; font-size: .85rem; }
summary { cursor: pointer; opacity: .85; }
`;

/**
 * One page that needs nothing else: no script, and nothing that is loaded. All that a log says is escaped, and the policy
 * of the page forbids the rest: only its own style has the hash that is allowed.
 */
export class HtmlFormat implements ExportFormat {
  readonly #mask: Mask;
  #shown: ShownEvents;

  /** @param mask gives what stands for a text of an answer that was cut off */
  constructor(mask: Mask) {
    this.#mask = mask;
    this.#shown = new ShownEvents(mask);
  }

  shows(record: SessionRecord): boolean {
    return isShown(record);
  }

  begin(): string {
    const hash = new Bun.CryptoHasher("sha256").update(STYLE).digest("base64");
    const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
    return (
      '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n' +
      `<meta http-equiv="Content-Security-Policy" content="${policy}">\n` +
      '<meta name="referrer" content="no-referrer">\n' +
      '<meta name="viewport" content="width=device-width, initial-scale=1">\n' +
      `<title>Holdfast sessions</title>\n<style>${STYLE}</style>\n</head>\n<body>\n`
    );
  }

  beginSession({ header }: ExportedHead): string {
    this.#shown = new ShownEvents(this.#mask);
    const { id, createdAt, cwd, parentSession } = header;
    const facts = [
      `created ${formatTime(createdAt)}`,
      ...(cwd === undefined ? [] : [`in ${line(cwd)}`]),
      ...(parentSession === undefined ? [] : [`forked from ${line(parentSession)}`]),
    ];
    return `<section>\n<h1 dir="auto">Session ${line(id)}</h1>\n<p class="facts">${facts.join(", ")}</p>\n`;
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
    return `<p class="facts">${facts.join("; ")}</p>\n</section>\n`;
  }

  end(): string {
    return "</body>\n</html>\n";
  }
}

function textOf(shown: ShownEvent | undefined): string {
  if (shown === undefined) return "";
  if (shown.kind === "title") return `<p>Title: <bdi>${line(shown.title)}</bdi></p>\n`;
  const { entry, time } = shown;
  const name = entry.kind === "tool" && !entry.ok ? "tool failed" : entry.kind;
  const tool = entry.kind === "tool" ? ` <code>${line(entry.name)}</code>` : "";
  const heading = `<h2>${headingOf(shown)}${tool} <time>${formatTime(time)}</time></h2>`;
  return `<article class="${name}">\n${heading}\n${blocksOf(entry).join("")}</article>\n`;
}

function blocksOf(entry: TranscriptEntry): string[] {
  switch (entry.kind) {
    case "user":
      return [block(entry.text)];
    case "tool": {
      const error =
        entry.error === undefined ? [] : [`<p>Error: <code>${line(entry.error.code)}</code></p>\n`];
      return [...error, folded("Result", entry.text)];
    }
    case "turn-end":
      return [block(describeEnd(entry))];
    case "assistant": {
      const { reasoning, text, toolCalls } = entry;
      return [
        ...(reasoning === undefined ? [] : [folded("Reasoning", reasoning)]),
        ...(text === "" ? [] : [block(text)]),
        ...toolCalls.map(({ name, arguments: args }) => folded(`Calls <code>${line(name)}</code>`, args)),
      ];
    }
  }
}

/** `summary` is HTML. */
function folded(summary: string, text: string): string {
  return `<details>\n<summary>${summary}</summary>\n${block(text)}</details>\n`;
}

function block(text: string): string {
  // A line feed right behind the tag is not shown; one of the text must not be taken for it.
  return `<pre dir="auto">\n${escapeHtml(printable(text.trimEnd()))}</pre>\n`;
}

function line(text: string): string {
  return escapeHtml(printableLine(text));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
