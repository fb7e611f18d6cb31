import { describe, expect, test } from "bun:test";
import { ChatAnswerReader } from "../../../../src/agent/providers/openai-compatible/answer.ts";
import type { Chunk } from "../../../../src/session/events.ts";
import { delta, finish, usage } from "../../../fixtures/provider-server.ts";

describe("after the end", () => {
  const answer = (...events: Array<object | "[DONE]">): Chunk[] => {
    const reader = new ChatAnswerReader((text) => text);
    const add = (event: object | "[DONE]") =>
      reader.add({ data: event === "[DONE]" ? event : JSON.stringify(event), isCut: false });
    return [...events.flatMap(add), ...reader.close()];
  };

  test("usage and chunks without content may come", () => {
    const chunks = answer(finish("stop"), delta({ role: "assistant", content: "" }), "[DONE]", usage(1, 2));
    expect(chunks.map(({ type }) => type)).toEqual(["usage", "finish"]);
  });

  test.each<[string, Array<object | "[DONE]">]>([
    ["text after the finish reason", [finish("stop"), delta({ content: "x" })]],
    ["text after the end mark", [finish("stop"), "[DONE]", delta({ content: "x" })]],
    ["reasoning after the end mark", [finish("stop"), "[DONE]", delta({ reasoning: "x" })]],
    [
      "a call after the finish reason",
      [finish("stop"), delta({ tool_calls: [{ index: 0, id: "c", function: { name: "f" } }] })],
    ],
  ])("%s is a bad response", (_, events) => {
    expect(() => answer(...events)).toThrow("went on after the end");
  });
});
