import { describe, expect, test } from "bun:test";
import type { ExportFormat } from "../../src/cli/sessions/exchange/formats/format.ts";
import { formatOfFile, openFormat } from "../../src/cli/sessions/exchange/formats/format.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { decodeHeader } from "../../src/session/header.ts";
import {
  assistantMessage,
  stepEnd,
  stepStart,
  textBlock,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { headerText, recordsOfDrafts } from "../fixtures/stored-sessions.ts";

const AT = { turn: 1, step: 1 };
const title = (text: string): EventDraft => ({ type: "session/title", data: { title: text } });
const HEADER = headerText("s");

function written(format: ExportFormat, drafts: readonly EventDraft[], facts: object): string {
  const head = format.beginSession({ header: decodeHeader(HEADER, {}), headerText: HEADER, facts });
  const texts = recordsOfDrafts(drafts).map((record) => {
    if (format.shows(record)) return format.event(record);
    format.pass(record);
    return "";
  });
  return head + texts.join("") + format.rest();
}

function turn(): EventDraft[] {
  return [
    { ...turnStart(1), time: 1_000 },
    userMessage("Hi", "u-1"),
    stepStart(AT),
    assistantMessage(AT, [textBlock("Hello.")], { usage: { inputTokens: 12, outputTokens: 3 } }),
    stepEnd(AT),
    { ...turnEnd(1), time: 3_500 },
  ];
}

describe("a format for people", () => {
  test("tells the title and the model above the events, later ones where they change, and how long a Turn took", async () => {
    const drafts = [title("First"), ...turn(), title("Last"), title("Last")];
    const facts = { title: "Last", model: "m-1 (p)" };
    const markdown = written(await openFormat("md", false, (text) => text), drafts, facts);
    expect(markdown).toStartWith("# Session `s`: `Last`\n\n- created ");
    expect(markdown).toContain("\n- model `m-1 (p)`\n\nTitle: `First`\n");
    expect(markdown).toContain("\nTurn 1 ended after 2.5 s; tokens: 12 in, 3 out\n");
    expect(markdown).toEndWith("\nTitle: `Last`\n");
    const html = written(await openFormat("html", false, (text) => text), drafts, facts);
    expect(html).toStartWith('<section id="session-1">\n<h1 dir="auto">Session s: <bdi>Last</bdi></h1>\n');
    expect(html).toContain(", model m-1 (p)</p>\n<p>Title: <bdi>First</bdi></p>\n");
    expect(html).toContain('<p class="facts">Turn 1 ended after 2.5 s; tokens: 12 in, 3 out</p>\n');
    // What the head tells is not told again.
    expect(
      written(await openFormat("md", false, (text) => text), [title("Last"), ...turn()], facts),
    ).not.toContain("Title:");
  });

  test("lists several sessions above the first one, and what their titles say stays text", async () => {
    const contents = [{ id: "s" }, { id: "t", title: "`](http://evil.example) <b>" }];
    const markdown = await openFormat("md", false, (text) => text);
    expect(markdown.begin(contents)).toBe(
      "# 2 sessions\n\n1. [Session `s`](#session-1)\n2. [Session `t`](#session-2): `` `](http://evil.example) <b> ``\n\n",
    );
    expect(written(markdown, [], {})).toStartWith('<a id="session-1"></a>\n\n# Session `s`\n');
    expect(written(markdown, [], {})).toStartWith('\n<a id="session-2"></a>\n\n# Session `s`\n');
    const html = (await openFormat("html", false, (text) => text)).begin(contents);
    expect(html).toContain("<title>2 Holdfast sessions</title>");
    expect(html).toEndWith(
      '<nav>\n<h1>2 sessions</h1>\n<ol>\n<li><a href="#session-1">Session <bdi>s</bdi></a></li>\n' +
        '<li><a href="#session-2">Session <bdi>t</bdi></a>: <bdi>`](http://evil.example) &lt;b&gt;</bdi></li>\n</ol>\n</nav>\n',
    );
    expect((await openFormat("html", false, (text) => text)).begin(contents.slice(1))).toContain(
      "<title>`](http://evil.example) &lt;b&gt; (session t)</title>",
    );
  });
});

test("the ending of a file's name tells its format", () => {
  const names = ["a.md", "a.HTM", "a/b.c/d", "a.jsonl", "a.ndjson", "a.json", "a.pdf", "a.md.zst"];
  expect(names.map(formatOfFile)).toEqual([
    "md",
    "html",
    "md",
    "jsonl",
    "jsonl",
    "json",
    undefined,
    undefined,
  ]);
});
