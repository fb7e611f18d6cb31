import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, stat } from "node:fs/promises";
import { z } from "zod";
import type { EventDraft } from "../../src/session/events.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  callBlock,
  reasoningDelta,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toEvents,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { executablePath, type Finished, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const AT = { turn: 1, step: 1 };
/** Put together, so that no scanner takes this file for a leak. */
const SECRET = `sk-${"a1b2C3".repeat(6)}`;
const HOSTILE = "```\n<script>alert(1)</script> ![x](http://evil.example/x.png)\n~~~\n````\n\u001b[31m\u202e";

function turn(said: string, answer: string): EventDraft[] {
  return [
    turnStart(1),
    { type: "session/title", data: { title: `About ${said}` } },
    userMessage(said, "u-1"),
    stepStart(AT),
    // Cut in the middle of what it says.
    ...[answer.slice(0, 9), answer.slice(9, 12), answer.slice(12)].map((piece) => textDelta(AT, piece)),
    assistantMessage(AT, [textBlock(answer), callBlock("c-1", "look", `{"at":"${said.slice(0, 3)}"}`)], {
      usage: { inputTokens: 12, outputTokens: 3 },
    }),
    toolCall(AT, "c-1", "look", `{"at":"${said.slice(0, 3)}"}`),
    toolResult(AT, "c-1", `Found: ${answer}`),
    stepEnd(AT),
    turnEnd(1, { kind: "aborted", reason: { kind: "user" } }),
  ];
}

/** A folder with the same sessions in a database `a.db` and below `logs`. */
async function folderWith(drafts: readonly EventDraft[], more: object = {}): Promise<TempFolder> {
  const folder = await TempFolder.create();
  for (const name of [`sqlite:${folder.at("a.db")}`, `jsonl:${folder.at("logs")}`]) {
    await withStore(name, (store) => plant(store, "s", recordsOfDrafts(drafts), more));
  }
  return folder;
}

function run(folder: TempFolder, ...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "export", ...args], { cwd: folder.path });
}

const jsonSchema = z.object({
  sessions: z.array(
    z.looseObject({
      header: z.looseObject({ id: z.string() }),
      events: z.array(z.looseObject({ seq: z.number(), type: z.string() })),
      count: z.number(),
    }),
  ),
});

describe("sessions export", () => {
  test("as JSON Lines writes the header, and every event as it is stored", async () => {
    await using folder = await folderWith(turn("What?", "That is the answer."));
    for (const store of ["a.db", "logs"]) {
      const { code, stdout, stderr } = await run(folder, store, "s", "--format", "jsonl");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [header = "", ...events] = stdout.split("\n");
      expect(JSON.parse(header)).toEqual({
        type: "session",
        ...{ version: 0, id: "s", createdAt: 1_700_000_000_000, cwd: "/srv/x", delegationDepth: 0 },
      });
      const shown = await runHoldfast(["sessions", "show", "s", store, "--events"], { cwd: folder.path });
      expect(events.join("\n")).toBe(shown.stdout);
    }
  });

  test("for people is the same of every kind of store, and what a log says stays text", async () => {
    await using folder = await folderWith(turn(HOSTILE, "Fine."), { cwd: "/srv/`x`<b>" });
    const [markdown, html] = await Promise.all(
      ["md", "html"].map(async (format) => {
        const [a, b] = await Promise.all(
          ["a.db", "logs"].map((store) => run(folder, store, "s", "--format", format)),
        );
        expect(a).toMatchObject({ code: 0, stderr: "" });
        expect(b).toEqual(a ?? { code: 0, stdout: "", stderr: "" });
        return a?.stdout ?? "";
      }),
    );
    expect(markdown).toStartWith("# Session `s`: ````` About ``` <script>alert(1)</script> ");
    expect(markdown).toContain(
      "\n\n- created 2023-11-14T22:13:20Z\n- in `` /srv/`x`<b> ``\n\n## Turn 1, user\n",
    );
    // Five, since there are four in the text.
    const said = HOSTILE.replace("\u001b", "\\u001b").replace("\u202e", "\\u202e");
    expect(markdown).toContain(`\n\`\`\`\`\`text\n${said}\n\`\`\`\`\`\n`);
    expect(markdown).toContain("\n## Turn 1, step 1, tool `look`\n");
    expect(markdown).toContain("\n- tokens: 12 in, 3 out\n");
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(html).toContain("/srv/`x`&lt;b&gt;");
    expect(html).toContain("<title>About ``` &lt;script&gt;alert(1)&lt;/script&gt; ");
    expect(html).not.toMatch(/<script|<img|<b>|\son\w+=|(?:src|href)=|\u202e/i);
    expect(html).not.toContain("\u001b");
    const [, hash] =
      /content="default-src 'none'; style-src 'sha256-([^']+)'; base-uri 'none'; form-action 'none'"/.exec(
        html ?? "",
      ) ?? [];
    const [, style = ""] = /<style>([^<]*)<\/style>/.exec(html ?? "") ?? [];
    expect(new Bun.CryptoHasher("sha256").update(style).digest("base64")).toBe(hash ?? "");
  });

  test("masks secrets in every format, titles and streamed pieces too, and says how many", async () => {
    const drafts: EventDraft[] = [
      // Nothing tells here that it is one.
      { type: "session/title", data: { title: `Keep ${SECRET.slice(3)}` } },
      ...turn(`Use ${SECRET} for ACME-1.`, `Now ${SECRET} is known to ACME-22.`),
    ];
    await using folder = await folderWith(drafts, { cwd: `/srv/${SECRET}` });
    const args = ["a.db", "s", "--redact", "--redact-pattern", "ACME-\\d+"];
    for (const [format, places] of [
      // The folder; the first title; the title, what was said, the answer and the result, with two each; in programs' formats the pieces.
      ["md", 10],
      ["html", 10],
      ["json", 12],
      ["jsonl", 12],
    ] as const) {
      const { code, stdout, stderr } = await run(folder, ...args, "--format", format);
      expect({ code, stderr }).toEqual({ code: 0, stderr: `holdfast: ${places} places were masked\n` });
      expect(stdout).not.toMatch(/a1b2|ACME-/);
      if (format !== "json") continue;
      const [session] = jsonSchema.parse(JSON.parse(stdout)).sessions;
      expect(session).toMatchObject({
        count: drafts.length,
        masked: places,
        header: { cwd: "/srv/[redacted]" },
      });
      expect(session?.events.map(({ seq, type }) => [seq, type])).toEqual(
        drafts.map(({ type }, seq) => [seq, type]),
      );
    }
  });

  test("for people shows an answer that was cut off, and one that no event ends, masked as they were said", async () => {
    const next = { turn: 2, step: 1 };
    const pieces = (at: typeof AT, text: string) =>
      (text.match(/.{1,5}/gs) ?? []).map((p) => textDelta(at, p));
    const drafts: EventDraft[] = [
      turnStart(1),
      userMessage("Which?", "u-1"),
      stepStart(AT),
      reasoningDelta(AT, "Hm <b>, ACME", 0),
      reasoningDelta(AT, "-7.", 0),
      textDelta(AT, "That of the first attempt: ACME-1", 1),
      { type: "llm/retry", data: { ...AT, attempt: 1 } },
      ...pieces(AT, `Take ${SECRET}, or \`\`\`\n<i>`),
      stepEnd(AT),
      turnEnd(1, { kind: "error", error: { message: "It broke", code: "PROVIDER" } }),
      turnStart(2),
      stepStart(next),
      ...pieces(next, `Again ${SECRET}`),
    ];
    // In the log each piece stands alone, in the database in runs.
    await using folder = await TempFolder.create();
    const events = toEvents(drafts);
    const single = recordsOf(
      events,
      events.map(() => 1),
    );
    await withStore(`sqlite:${folder.at("a.db")}`, (store) => plant(store, "s", recordsOf(events)));
    await withStore(`jsonl:${folder.at("logs")}`, (store) => plant(store, "s", single));
    const [plain, markdown, html] = await Promise.all(
      [["md"], ["md", "--redact-pattern", "ACME-\\d"], ["html", "--redact-pattern", "ACME-\\d"]].map(
        async (format) => {
          const [a, b] = await Promise.all(
            ["a.db", "logs"].map((store) => run(folder, store, "s", "--format", ...format)),
          );
          expect(b).toEqual(a ?? { code: 0, stdout: "", stderr: "" });
          // Both answers; the first attempt is not shown.
          expect(a?.stderr).toBe(format.length === 1 ? "" : "holdfast: 2 places were masked\n");
          return a?.stdout ?? "";
        },
      ),
    );
    expect(plain).toContain(SECRET);
    expect(markdown).toContain(
      "\n## Turn 1, step 1, assistant, cut off\n\n2023-11-14T22:13:20Z\n" +
        "\n````text\nTake [redacted], or ```\n<i>\n````\n\n## Turn 1 ended\n",
    );
    expect(markdown).toContain("\n## Turn 2, step 1, assistant, so far\n");
    expect(markdown).toContain("\n```text\nAgain [redacted]\n```\n\n---\n");
    expect(html).toContain("<h2>Turn 1, step 1, assistant, cut off <time>");
    expect(html).toContain('<pre dir="auto">\nTake [redacted], or ```\n&lt;i&gt;</pre>\n</article>\n');
    expect(html).toContain('<pre dir="auto">\nAgain [redacted]</pre>\n</article>\n<p class="facts">');
  });

  test("makes a file that only its user can read, whole or not at all, and replaces none unasked", async () => {
    await using folder = await folderWith(turn("What?", "That."));
    const command = ["sh", "-c", 'umask 000; exec "$0" "$@"', executablePath(), "sessions", "export"];
    const args = ["a.db", "--all", "-o", "s.html", "--json"];
    const made = await runCommand([...command, ...args], { cwd: folder.path });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const { size, mode } = await stat(folder.at("s.html"));
    expect(mode & 0o777).toBe(0o600);
    expect(JSON.parse(made.stdout)).toMatchObject({
      file: folder.at("s.html"),
      format: "html",
      bytes: size,
      sessions: [{ id: "s", events: 12, torn: false }],
    });
    expect(await run(folder, ...args)).toMatchObject({ code: 4, stdout: "" });
    await Bun.write(folder.at("s.html"), "old");
    expect(await run(folder, "a.db", "s", "-o", "s.html", "--force")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^exported s to s\.html: 12 events, [\d.]+ KiB\n$/),
    });
    expect((await stat(folder.at("s.html"))).size).toBe(size);

    const names = (await readdir(folder.path)).filter((name) => !/^(?:a\.db|logs)/.test(name));
    expect(names).toEqual(["s.html"]);
  });

  test("of several sessions leaves out those that are damaged, and says which; of one alone shows what precedes", async () => {
    await using folder = await TempFolder.create();
    await makeStore(folder.at("b.db"));
    damage(folder.at("b.db"), (database) =>
      rewriteBody(database, SEQ.message, "milk", "wine", { fixChecksum: false }),
    );
    await withStore(`sqlite:${folder.at("b.db")}`, (store) =>
      plant(store, "sound", recordsOfDrafts(turn("What?", "That."))),
    );
    await withStore(`sqlite:${folder.at("b.db")}`, (store) =>
      plant(store, "older", recordsOfDrafts(turn("What?", "That.")), { createdAt: 1 }),
    );
    const all = await run(folder, "b.db", "--all", "-o", "all.jsonl", "--json");
    expect(all.code).toBe(5);
    expect(all.stderr).toMatch(/^holdfast: default is left out: .*session default, seq \d+\)\n$/);
    expect(JSON.parse(all.stdout)).toMatchObject({
      sessions: [{ id: "older" }, { id: "sound" }],
      failed: [{ id: "default", code: "corrupt" }],
    });
    const lines = (await Bun.file(folder.at("all.jsonl")).text()).split("\n");
    expect(lines.filter((line) => line.startsWith('{"type":"session",'))).toHaveLength(2);
    const page = await run(folder, "b.db", "--all", "--format", "md");
    expect(page.stdout).toStartWith(
      "# 2 sessions\n\n1. [Session `older`](#session-1): `About What?`\n2. [Session `sound`](#session-2): `About What?`\n\n" +
        '<a id="session-1"></a>\n\n# Session `older`: `About What?`\n\n- created 1970-01-01T00:00:00Z\n',
    );

    // An id is known by its beginning. A file is made of what is whole.
    expect(await run(folder, "b.db", "defau", "-o", "b.md")).toMatchObject({ code: 5, stdout: "" });
    expect((await run(folder, "b.db", "other", "-o", "b.md")).code).toBe(3);
    expect((await readdir(folder.path)).filter((name) => name.includes("b.md"))).toEqual([]);
    const shown = await run(folder, "b.db", "defau");
    expect(shown.code).toBe(5);
    expect(shown.stdout).toContain("What do I need?");
    expect(shown.stdout).toContain("assistant, so far\n");
  });

  test.each([
    ["no session", ["a.db"], "No session is named"],
    ["some and all", ["a.db", "s", "--all"], "exclude each other"],
    ["a report among the sessions", ["a.db", "s", "--json"], "--json needs -o"],
    ["a file of the store", ["a.db", "s", "--force", "-o", "a.db"], "a file of the store itself"],
    [
      "a file in no folder",
      ["a.db", "s", "-o", "gone/s.md"],
      "-o names a file in a folder that is not there",
    ],
    ["a file below a file", ["a.db", "s", "-o", "/etc/hosts/s.md"], "-o names a file in what is no folder"],
    ["the name of a folder", ["a.db", "s", "-o", "s.md/"], "-o names a folder that is not there"],
    ["a folder as its file", ["a.db", "s", "--force", "-o", "."], "-o names a folder"],
    ["a device as its file", ["a.db", "s", "--force", "-o", "/dev/null"], "-o names no file"],
    ["what is no pattern", ["a.db", "s", "--redact-pattern", "("], "is no regular expression"],
    [
      "a file of another format",
      ["a.db", "s", "-o", "s.pdf"],
      "Let its name end in .md, .html, .json or .jsonl",
    ],
    ["another format", ["a.db", "s", "--format", "pdf"], "it must be md, json, jsonl or html"],
  ])("refuses %s with exit code 2", async (_, args, message) => {
    await using folder = await TempFolder.create();
    const { code, stdout, stderr } = await run(folder, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});
