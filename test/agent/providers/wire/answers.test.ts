import { describe, expect, test } from "bun:test";
import { PROVIDERS } from "../../../../src/agent/providers/index.ts";
import type { ContentBlock } from "../../../../src/session/events.ts";
import { forever } from "../../../fixtures/model-replies.ts";
import { type Part, partsReply } from "../../../fixtures/provider-server.ts";
import {
  answer,
  call,
  END,
  finish,
  type Item,
  reasoning,
  text,
  tokens,
  type Wire,
} from "../../../fixtures/wire.ts";
import { askOnce, readAnswer } from "../../../fixtures/wire-chunks.ts";
import { EACH_WIRE, WIRES } from "../../../fixtures/wires.ts";

const answerOf = async (wire: Wire, ...items: Item[]) =>
  readAnswer(await askOnce(wire, answer(wire, ...items)));
const toolCall = (id: string, name: string, args: string): ContentBlock => ({
  type: "tool-call",
  id,
  name,
  arguments: args,
});

test("every provider that asks over the network is tested here", () => {
  const asking = Object.entries(PROVIDERS).flatMap(([name, kind]) => ("connect" in kind ? [name] : []));
  expect<string[]>(WIRES.map(({ name }) => name)).toEqual(asking);
});

describe.each(EACH_WIRE)("an answer over %s", (_, wire) => {
  test("text in fragments is one block, and each fragment a delta of its own", async () => {
    const chunks = await askOnce(wire, answer(wire, ...["He", "ll", "o"].map(text), finish("stop")));
    expect(chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.text] : []))).toEqual([
      "He",
      "ll",
      "o",
    ]);
    expect(readAnswer(chunks)).toMatchObject({ blocks: [{ type: "text", text: "Hello" }], finish: "stop" });
  });

  test.each([...wire.reasoningFields])(
    "reasoning as %s is a block of its own, before the text",
    async (field) => {
      const items: Item[] = [reasoning("hm", field), reasoning("m", field), text("Hi"), finish("stop")];
      expect((await answerOf(wire, ...items)).blocks).toEqual([
        { type: "reasoning", text: "hmm" },
        { type: "text", text: "Hi" },
      ]);
    },
  );

  test("several calls in one Step, with their arguments in fragments, side by side or one after the other", async () => {
    const items: Item[] = [
      text("I look."),
      call(0, { id: "a", name: "f" }),
      call(1, { id: "b", name: "g", args: '{"x"' }),
      call(0, { args: '{"text":' }),
      call(1, { args: ":1}" }),
      call(0, { args: '"é"}' }),
      call(2, { id: "c", name: "f", args: '{"y":2}' }),
      finish("tool-calls"),
    ];
    expect(await answerOf(wire, ...items)).toMatchObject({
      blocks: [
        { type: "text", text: "I look." },
        toolCall("a", "f", '{"text":"é"}'),
        toolCall("b", "g", '{"x":1}'),
        toolCall("c", "f", '{"y":2}'),
      ],
      finish: "tool-calls",
    });
  });

  test.each<[string, Item[]]>([
    ["absent", [call(0, { id: "a", name: "f" })]],
    ["an empty text", [call(0, { id: "a", name: "f", args: "" })]],
    ["only blanks", [call(0, { id: "a", name: "f", args: " " }), call(0, { args: "\n" })]],
  ])("arguments that are %s mean {}", async (_, items) => {
    const { blocks } = await answerOf(wire, ...items, finish("tool-calls"));
    expect(blocks).toEqual([toolCall("a", "f", "{}")]);
  });

  test("arguments that are no JSON are kept as they came: the tool says what is wrong with them", async () => {
    const items: Item[] = [call(0, { id: "a", name: "f", args: '{"cut' }), finish("tool-calls")];
    expect((await answerOf(wire, ...items)).blocks).toEqual([toolCall("a", "f", '{"cut')]);
  });

  test("an answer that was cut off at its limit says so", async () => {
    expect((await answerOf(wire, text("and so"), finish("max-tokens"))).finish).toBe("max-tokens");
  });

  test("usage has the cached tokens within the input, and the reasoning ones within the output", async () => {
    const counts = tokens({ input: 100, output: 20, cached: 60, reasoning: 7 });
    expect((await answerOf(wire, text("x"), finish("stop"), counts)).usage).toMatchObject({
      inputTokens: 100,
      outputTokens: 20,
      cacheReadTokens: 60,
      reasoningTokens: 7,
    });
  });

  test.each(wire.senselessUsage.map((item) => [item] as const))(
    "usage that makes no sense does not cost the answer (%j)",
    async (item) => {
      expect(await answerOf(wire, text("x"), item, finish("stop"))).toMatchObject({
        blocks: [{ text: "x" }],
        finish: "stop",
      });
    },
  );

  test("events and fields that nobody knows are passed over, wherever they stand", async () => {
    const plain: Item[] = [
      reasoning("hm"),
      text("a"),
      call(0, { id: "a", name: "f", args: "{}" }),
      finish("tool-calls"),
    ];
    const odd = plain.flatMap((item): Item[] => [...wire.oddities, ": a comment\n\n", item]);
    const parts = wire.encode([...odd, ...wire.oddities, END]).map(withUnknownFields);
    expect(readAnswer(await askOnce(wire, partsReply(parts)))).toEqual(await answerOf(wire, ...plain));
  });

  test("a pair of surrogates that two fragments share is one character", async () => {
    const items: Item[] = [
      reasoning("\ud83d"),
      reasoning("\ude00"),
      text("a\ud83d"),
      text("\ude00b"),
      call(0, { id: "a", name: "f", args: '{"t":"\ud83d' }),
      call(0, { args: '\ude00"}' }),
      finish("tool-calls"),
    ];
    expect((await answerOf(wire, ...items)).blocks).toEqual([
      { type: "reasoning", text: "😀" },
      { type: "text", text: "a😀b" },
      toolCall("a", "f", '{"t":"😀"}'),
    ]);
  });

  test("a connection that stays open after the end marker does not hold the answer up", async () => {
    const chunks = await askOnce(wire, answer(wire, text("x"), finish("stop"), END, forever()));
    expect(readAnswer(chunks)).toMatchObject({ blocks: [{ text: "x" }], finish: "stop" });
  });
});

/** The event with a further member in each of its objects; but a call's arguments are nobody's fields. */
function withUnknownFields(part: Part): Part {
  if (typeof part !== "string") return part;
  return part.replace(
    /^data: (\{.*)$/m,
    (_, json: string) => `data: ${JSON.stringify(sprinkle(JSON.parse(json)))}`,
  );
}

function sprinkle(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sprinkle);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    key === "input" ? member : sprinkle(member),
  ]);
  return { ...Object.fromEntries(members), brand_new: { nested: [1, null] } };
}
