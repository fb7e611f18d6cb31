import type { SessionRecord } from "../../../../session/records.ts";
import { printable, printableLine } from "../../../printable.ts";
import { formatTime } from "../../list/table.ts";
import type { ContentsEntry, ExportedHead, ExportedTail, ExportFormat, Mask } from "./format.ts";
import { headingOf, isShown, type ShownEvent, ShownEvents, tailFacts, timeOf } from "./shown.ts";

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
  readonly needsFacts = true;
  readonly #mask: Mask;
  #shown: ShownEvents;
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
    const hash = new Bun.CryptoHasher("sha256").update(STYLE).digest("base64");
    const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
    return (
      '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n' +
      `<meta http-equiv="Content-Security-Policy" content="${policy}">\n` +
      '<meta name="referrer" content="no-referrer">\n' +
      '<meta name="viewport" content="width=device-width, initial-scale=1">\n' +
      `<title>${pageTitle(contents)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n${contentsOf(contents)}`
    );
  }

  beginSession({ header, facts: told }: ExportedHead): string {
    this.#shown = new ShownEvents(this.#mask, told);
    this.#sessions += 1;
    const { id, createdAt, cwd, parentSession } = header;
    const { title, model } = told;
    const facts = [
      `created ${formatTime(createdAt)}`,
      ...(cwd === undefined ? [] : [`in ${line(cwd)}`]),
      ...(parentSession === undefined ? [] : [`forked from ${line(parentSession)}`]),
      ...(model === undefined ? [] : [`model ${line(model)}`]),
    ];
    const heading = `<h1 dir="auto">Session ${line(id)}${titled(title)}</h1>`;
    return `<section id="session-${this.#sessions}">\n${heading}\n<p class="facts">${facts.join(", ")}</p>\n`;
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
    return `<p class="facts">${tailFacts(tail, this.#shown.tokens).join("; ")}</p>\n</section>\n`;
  }

  end(): string {
    return "</body>\n</html>\n";
  }
}

function pageTitle(contents: readonly ContentsEntry[]): string {
  const [first] = contents;
  if (first === undefined || contents.length > 1) return `${contents.length} Holdfast sessions`;
  return first.title === undefined
    ? `Session ${line(first.id)}`
    : `${line(first.title)} (session ${line(first.id)})`;
}

/** Where there are several sessions, what there is. */
function contentsOf(contents: readonly ContentsEntry[]): string {
  if (contents.length < 2) return "";
  const items = contents.map(
    ({ id, title }, k) =>
      `<li><a href="#session-${k + 1}">Session <bdi>${line(id)}</bdi></a>${titled(title)}</li>\n`,
  );
  return `<nav>\n<h1>${contents.length} sessions</h1>\n<ol>\n${items.join("")}</ol>\n</nav>\n`;
}

function titled(title: string | undefined): string {
  return title === undefined ? "" : `: <bdi>${line(title)}</bdi>`;
}

function textOf(shown: ShownEvent): string {
  switch (shown.kind) {
    case "change":
      return `<p>${shown.name}: <bdi>${line(shown.text)}</bdi></p>\n`;
    case "turn-end": {
      const { turn, time, failure, facts } = shown;
      if (failure === undefined)
        return `<p class="facts">Turn ${turn} ended${facts === "" ? "" : ` ${facts}`}</p>\n`;
      const when = `${formatTime(time)}${facts === "" ? "" : `, ${facts}`}`;
      const heading = `<h2>Turn ${turn} ended <time>${when}</time></h2>`;
      return `<article class="turn-end">\n${heading}\n${block(failure)}</article>\n`;
    }
    case "entry": {
      const { entry } = shown;
      const name = entry.kind === "tool" && !entry.ok ? "tool failed" : entry.kind;
      const tool = entry.kind === "tool" ? ` <code>${line(entry.name)}</code>` : "";
      const heading = `<h2>${headingOf(shown)}${tool} <time>${timeOf(shown)}</time></h2>`;
      return `<article class="${name}">\n${heading}\n${blocksOf(entry).join("")}</article>\n`;
    }
  }
}

function blocksOf(entry: Extract<ShownEvent, { kind: "entry" }>["entry"]): string[] {
  switch (entry.kind) {
    case "user":
      return [block(entry.text)];
    case "tool": {
      const error =
        entry.error === undefined ? [] : [`<p>Error: <code>${line(entry.error.code)}</code></p>\n`];
      return [...error, folded("Result", entry.text)];
    }
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
