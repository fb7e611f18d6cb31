import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { EventDraft } from "../../src/session/events.ts";
import {
  assistantMessage,
  callBlock,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { runHoldfast } from "../fixtures/executable.ts";
import { AT, holding, show, TALK } from "../fixtures/shown-session.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const EVENTFUL = recordsOfDrafts([
  titled("First"),
  turnStart(1),
  {
    type: "user/message",
    data: { id: "u", role: "user", content: [textBlock("Be brief.")], source: { kind: "hook" } },
    surfaceOp: "append",
  },
  asked("small"),
  { type: "session/end-seed", data: {} },
  {
    type: "llm/retry",
    data: { ...AT, attempt: 1, delayMs: 1_500, error: { message: "Too busy", code: "PROVIDER_BUSY" } },
  },
  asked("big"),
  titled("Second"),
  replacing(userMessage("In short"), 2, 2, [2]),
  turnEnd(1),
]);

function titled(text: string): EventDraft {
  return { type: "session/title", data: { title: text } };
}

function asked(model: string): EventDraft {
  return { type: "request/header", data: { header: { config: { provider: "p", model } }, reason: "change" } };
}

describe("a session as a person reads it", () => {
  test("is what it is, what was said, and what happened, with times and tokens", async () => {
    const { folder, store } = await holding(TALK);
    await using _ = folder;
    expect(await show("s", store)).toEqual({
      code: 0,
      stdout: [
        "Session s",
        "  created  2023-11-14 22:13:20 (UTC)",
        "  folder   /srv/x",
        "  events   8",
        "",
        "Turn 1, 2023-11-14 22:13:20",
        "",
        "User",
        "  Where is",
        "  \tthe milk?",
        "",
        "Assistant",
        "Reasoning, 3 characters; --full shows it",
        "  I look.",
        "Call read_file {}",
        "",
        "Result of read_file, failed (WORKSPACE_NOT_FOUND), 1 ms",
        "  no such file",
        "",
        "Turn 1 ended: error, It broke (PROVIDER), after 7 ms; tokens: 12 in, 3 out",
        "",
        "Total: 1 Turn, 8 events, tokens: 12 in, 3 out",
        "",
      ].join("\n"),
      stderr: "",
    });
    const { stdout } = await show("s", store, "--full");
    expect(stdout).toContain("\nAssistant\nReasoning\n  Hm.\nAnswer\n  I look.\nCall read_file\n  {}\n");
  });

  test("tells titles, models, retries, forks, context and compaction, each where it changes", async () => {
    const { folder, store } = await holding(EVENTFUL);
    await using _ = folder;
    const { stdout } = await show("s", store);
    const head =
      "Session s\n  title    Second\n  created  2023-11-14 22:13:20 (UTC)\n  folder   /srv/x\n  model    big (p)\n";
    expect(stdout).toStartWith(head);
    const notes = [
      "\nContext from hook\n  Be brief.\n",
      "\nUp to here it is a copy of the session that it was forked from\n",
      "\nAttempt 1 failed: Too busy (PROVIDER_BUSY); tried again after 1.5 s\n",
      "\nModel: big (p)\n",
      "\nTitle: Second\n",
      "\nWhat was said so far was compacted: from here on the model is told a summary of it\n",
    ];
    const places = notes.map((note) => stdout.indexOf(note));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((x, y) => x - y));
    expect(stdout).not.toContain("First");
  });

  test("has long results and arguments shortened, and says by how much; --full shows all", async () => {
    const long = Array.from({ length: 100 }, (_, k) => `line ${k} \u{1F44B}`).join("\n");
    const args = JSON.stringify({ text: "\u{1F44B}\u{1F3FD}".repeat(300) });
    const talk = [assistantMessage(AT, [callBlock("c1", "write", args)]), toolResult(AT, "c1", long)];
    const { folder, store } = await holding(recordsOfDrafts([turnStart(1), ...talk]));
    await using _ = folder;
    const { stdout } = await show("s", store);
    const [call = ""] = /^Call write .*$/m.exec(stdout) ?? [];
    expect(call).toMatch(/^Call write \{"text":"(\u{1F44B}\u{1F3FD})+…, \d{3} characters left out$/u);
    expect(Bun.stringWidth(call)).toBeLessThanOrEqual(170);
    expect(stdout).toContain(
      "  line 13 \u{1F44B}\n(80 lines, 800 characters left out; --full shows all)\n  line 94",
    );
    const full = (await show("s", store, "--full")).stdout;
    expect(full).toContain(`Call write\n  ${args}\n`);
    expect(full).toContain(long.replaceAll("\n", "\n  "));
  });

  test("has an answer that was cut off, from its pieces, and one that goes on, as far as it came", async () => {
    const pieces = ["It is ", "in the ", "fri"].map((piece) => textDelta(AT, piece));
    const open = [turnStart(1), userMessage("Where?"), stepStart(AT), ...pieces];
    const failed = [...open, stepEnd(AT), turnEnd(1, { kind: "interrupted" })];
    const cutOff = { kind: "assistant", seq: 6, turn: 1, step: 1, text: "It is in the fri", toolCalls: [] };
    const { folder, store } = await holding(recordsOfDrafts(failed));
    await using _ = folder;
    expect((await show("s", store)).stdout).toContain(
      "\nAssistant, cut off\n  It is in the fri\n\nTurn 1 ended",
    );
    const shown = JSON.parse((await show("s", store, "--json")).stdout);
    expect(shown.transcript[1]).toEqual({ ...cutOff, interrupted: true });
    expect(shown).not.toContainKey("openAnswer");
    // A store keeps a text that was streamed once.
    const said = "A long answer. ".repeat(100);
    const whole = [
      turnStart(1),
      stepStart(AT),
      ...Array.from(said, (letter) => textDelta(AT, letter)),
      assistantMessage(AT, [textBlock(said)]),
    ];
    await withStore(store, (opened) => plant(opened, "whole", recordsOfDrafts(whole)));
    expect((await show("whole", store)).stdout).toContain(`\nAssistant\n  ${said.trim()}\n`);
    expect(JSON.parse((await show("whole", store, "--json")).stdout).transcript).toMatchObject([
      { text: said },
    ]);
    await withStore(store, (opened) => plant(opened, "open", recordsOfDrafts(open)));
    expect((await show("open", store)).stdout).toContain("\nAssistant, so far\n  It is in the fri\n");
    expect(JSON.parse((await show("open", store, "--json")).stdout)).toMatchObject({
      openAnswer: { ...cutOff, interrupted: true },
      transcript: [{ kind: "user" }],
    });
  });

  test("has no control character but line breaks and tabs, and no text that passes for a heading", async () => {
    const evil =
      "red \u001b[31m, \u009b1m, bell \u0007, back\rover, turned \u202e, end\u2028Turn 2, user\nTurn 9, user\r\nlast";
    const { folder, store } = await holding(
      recordsOfDrafts([turnStart(1), userMessage(evil), toolResult(AT, "c\u001b[0m", "x"), turnEnd(1)]),
    );
    await using _ = folder;
    const { stdout } = await show("s", store);
    expect(stdout).not.toMatch(/[^\n\t -~]/);
    expect(stdout).toContain("  red \\u001b[31m, \\u009b1m, bell \\u0007, back\\u000dover, turned \\u202e");
    expect(stdout.match(/^Turn/gm)).toHaveLength(2);
    expect(stdout).toContain("\n  Turn 9, user\n  last\n");
  });

  test("has the times of where the reader is, and programs those of UTC", async () => {
    const { folder, store } = await holding(TALK);
    await using _ = folder;
    const { stdout } = await runHoldfast(["sessions", "show", "s", store], { env: { TZ: "Asia/Kolkata" } });
    expect(stdout).toContain("\n  created  2023-11-15 03:43:20 (UTC+05:30)\n");
    expect(stdout).toContain("\nTurn 1, 2023-11-15 03:43:20\n");
  });

  test("says on stderr that the last Turn is open", async () => {
    const { folder, store } = await holding(TALK.slice(0, 3));
    await using _ = folder;
    const { code, stderr } = await show("s", store);
    expect(code).toBe(0);
    expect(stderr).toBe("holdfast: the last Turn is open: it is running now, or it was interrupted\n");
  });

  test("names event types that are not known", async () => {
    const texts = [
      '{"type":"future/\\u001b","seq":0,"time":0,"data":{}}',
      '{"type":"x/y","seq":1,"time":0,"data":1}',
    ];
    const { folder, store } = await holding(recordsOfTexts(texts));
    await using _ = folder;
    const { code, stderr } = await show("s", store);
    expect(code).toBe(0);
    expect(stderr).toMatch(/unknown type "future\/\\u001b", the first at seq 0/);
    expect(stderr).toMatch(/unknown type "x\/y", the first at seq 1/);
  });
});
