import { describe, expect, test } from "bun:test";
import { recapOf } from "../../src/cli/chat/recap.ts";
import { TranscriptStyle } from "../../src/cli/sessions/show/transcript-style.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import {
  assistantMessage,
  callBlock,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { viewOfDrafts } from "../fixtures/logs.ts";

const LINES = Array.from({ length: 100 }, (_, k) => `line ${k}`).join("\n");

/** A Turn that reads a file, and answers. */
function turn(number: number, answer: string): EventDraft[] {
  const [first, second] = [1, 2].map((step) => ({ turn: number, step }));
  if (first === undefined || second === undefined) return [];
  const reasoning = { type: "reasoning", text: "Hm. ".repeat(100) } as const;
  return [
    turnStart(number),
    userMessage(`Question ${number}\n${LINES}`, `u${number}`),
    stepStart(first),
    assistantMessage(first, [reasoning, textBlock("I look."), callBlock(`c${number}`)]),
    toolCall(first, `c${number}`),
    toolResult(first, `c${number}`, LINES),
    stepEnd(first),
    stepStart(second),
    textDelta(second, answer),
    assistantMessage(second, [textBlock(answer)]),
    stepEnd(second),
    turnEnd(number),
  ];
}

function recap(drafts: readonly EventDraft[]): { earlier: number; text: string; lines: number } {
  const log = viewOfDrafts(drafts);
  const style = new TranscriptStyle({ columns: 80, styled: false });
  const found = recapOf({ log, projections: new SessionProjections().catchUp(log) }, style);
  return { ...found, lines: found.text.split("\n").length };
}

describe("what a chat begins with", () => {
  test("is the end of the conversation in about 40 lines, folded and shortened as sessions show does", () => {
    const { earlier, text, lines } = recap([1, 2, 3, 4].flatMap((k) => turn(k, `Answer ${k}`)));
    expect(lines).toBeLessThan(45);
    expect(earlier).toBe(11);
    expect(text).toMatch(/^\nTurn 3, .*\n\nAssistant\n {2}Answer 3\n\nTurn 3 ended/);
    expect(text).toContain("\nUser\n  Question 4\n  line 0\n");
    expect(text).toContain("\nReasoning, 400 characters\n  I look.\nCall read_file {}\n");
    expect(text).toMatch(/\nResult of read_file, \d+ ms\n {2}line 0\n[\s\S]*left out\)\n {2}line 99\n/);
    expect(text).toMatch(/\nAssistant\n {2}Answer 4\n\nTurn 4 ended after .*\n$/);
  });

  test("has the last answer whole, however long, and nothing that would make it longer", () => {
    const { earlier, text } = recap([...turn(1, "Answer 1"), ...turn(2, LINES)]);
    expect(text).toStartWith("\nTurn 2, 20");
    expect(text).toContain(`\nAssistant\n  ${LINES.replaceAll("\n", "\n  ")}\n\nTurn 2 ended`);
    expect(text).not.toContain("Result of");
    expect(earlier).toBe(7);
  });

  test("has an answer that was cut off, and does not go back over results without end for one that was not", () => {
    const at = { turn: 2, step: 1 };
    const start = [...turn(1, "Answer 1"), turnStart(2), userMessage("Go on"), stepStart(at)];
    const cut = recap([...start, textDelta(at, "Let me"), stepEnd(at), turnEnd(2, { kind: "interrupted" })]);
    expect(cut.text).toEndWith("\nAssistant, cut off\n  Let me\n\nTurn 2 ended: interrupted, after 5 ms\n");
    const calls = Array.from({ length: 30 }, (_, k) => [
      assistantMessage(at, [callBlock(`x${k}`)]),
      toolCall(at, `x${k}`),
      toolResult(at, `x${k}`, LINES),
    ]);
    const { lines, earlier } = recap([...start, ...calls.flat()]);
    expect(lines).toBeLessThan(45);
    expect(earlier).toBeGreaterThan(50);
  });

  test("is nothing where nothing was said", () => {
    expect(recap([])).toEqual({ earlier: 0, text: "", lines: 1 });
  });
});
