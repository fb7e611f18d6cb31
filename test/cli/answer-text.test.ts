import { expect, test } from "bun:test";
import { AnswerText } from "../../src/cli/conversation/answer-text.ts";

test("of a Turn that is cancelled the text of its last Step is kept, a line for each block", async () => {
  const kept = new AnswerText();
  const text = (block: string, piece: string) => kept.show({ kind: "text", text: piece, block });
  expect(kept.text).toBe("");
  await text("1/1/0", "I look.");
  await kept.show({ kind: "call", callId: "c", name: "read_file", arguments: "{}" });
  expect(kept.text).toBe("I look.");
  await kept.show({ kind: "reasoning", text: "Hmm.", block: "1/2/0" });
  await text("1/2/1", "Well, ");
  await text("1/2/1", "yes.");
  await text("1/2/2", "And");
  expect(kept.text).toBe("Well, yes.\nAnd");
  await text("1/12", "A whole message");
  expect(kept.text).toBe("A whole message");
});
