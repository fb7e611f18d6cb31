import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { delta, event, finish, partsReply, type Reply, sseReply } from "../../../fixtures/provider-server.ts";
import { echo } from "../../../fixtures/test-tools.ts";
import { openWireRig } from "../../../fixtures/wire.ts";
import { chatCompletions } from "../../../fixtures/wire-chat-completions.ts";

const chunk = (fields: object, finishReason: string | null = null, extra: object = {}) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finishReason, ...extra }],
});
const thinking = (words: string) => ({ type: "thinking", thinking: [{ type: "text", text: words }] });

/** What servers send that say they are compatible, and what it comes to. */
const SERVERS: ReadonlyArray<readonly [string, Reply, string]> = [
  [
    "Azure: first the filter's word on the prompt, and its word on the answer after the finish",
    sseReply([
      { choices: [], id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0 }] },
      chunk({ content: "", refusal: null, role: "assistant" }),
      chunk({ content: "Hi" }, null, { content_filter_results: { hate: { filtered: false } } }),
      finish("stop"),
      chunk({}, null, { content_filter_offsets: { check_offset: 1 } }),
    ]),
    "Hi",
  ],
  [
    "Mistral: content in parts, thinking and references among them",
    sseReply([
      chunk({ role: "assistant", content: [thinking("Hm")] }),
      chunk({ content: [thinking("m."), { type: "text", text: "Hi" }] }),
      chunk({ content: [{ type: "reference", reference_ids: [1] }] }),
      chunk({ content: " you" }, "stop"),
    ]),
    "(Hmm.)Hi you",
  ],
  [
    "OpenRouter: comments while it waits",
    partsReply([
      ": OPENROUTER PROCESSING\n\n",
      ...[chunk({ reasoning: "Hm" }), chunk({ content: "Hi" }), finish("stop")].map((item) => event(item)),
      ": OPENROUTER PROCESSING\n\n",
    ]),
    "(Hm)Hi",
  ],
  ["Together: eos", sseReply([chunk({ content: "Hi" }), finish("eos")]), "Hi"],
  ["Text Generation Inference: eos_token", sseReply([chunk({ content: "Hi" }, "eos_token")]), "Hi"],
  ["a gateway: STOP", sseReply([chunk({ content: "Hi" }), finish("STOP")]), "Hi"],
  ["a server without [DONE]", partsReply([event(chunk({ content: "Hi" }, "stop")).trimEnd()]), "Hi"],
  ["OpenAI: a refusal", sseReply([chunk({ content: null, refusal: "No." }), finish("stop")]), "No."],
];

describe("an answer of", () => {
  test.each(SERVERS)("%s", async (_, reply, expected) => {
    await using rig = await openWireRig(chatCompletions, [reply]);
    expect((await rig.run("hi")).failure).toBeUndefined();
    const content = rig.all("assistant/message").flatMap(({ data }) => data.message.content);
    const said = content.map((block) => {
      if (block.type === "reasoning") return `(${block.text})`;
      return block.type === "text" ? block.text : block.type;
    });
    expect(said.join("")).toBe(expected);
  });

  test.each(["content_filter: PROHIBITED_CONTENT", "sensitive", "SAFETY"])(
    "a filter that says %s is a refusal",
    async (word) => {
      await using rig = await openWireRig(chatCompletions, [
        sseReply([delta({ content: "x" }), finish(word)]),
      ]);
      expect((await rig.run("hi")).failure).toMatchObject({ code: "provider-rejected" });
    },
  );
});

const bodySchema = z.object({ messages: z.array(z.record(z.string(), z.unknown())) });
const done = sseReply([delta({ content: "Done." }), finish("stop")]);
const calls = (fields: object, ...more: object[]) =>
  sseReply([
    ...more,
    delta({
      tool_calls: [{ id: "c1", type: "function", function: { name: "echo", arguments: "{}" }, ...fields }],
    }),
    finish("stop"),
  ]);

/** What the history of the last request says of its assistant messages. */
async function replayed(replies: readonly Reply[], model = "test-model") {
  await using rig = await openWireRig(chatCompletions, replies, { tools: [echo] });
  await rig.run("first");
  await rig.restart();
  await rig.run("last", { route: { provider: "openai-compatible", model } });
  const bodies = rig.server.requests.map(({ body }) => bodySchema.parse(JSON.parse(body)).messages);
  const messages = bodies.at(-1) ?? [];
  if (model === "test-model") {
    for (const earlier of bodies) expect(messages.slice(0, earlier.length)).toEqual(earlier);
  }
  return messages.filter(({ role }) => role === "assistant");
}

describe("what a server wants back with a message", () => {
  test.each(["reasoning_content", "reasoning"])(
    "is its %s, under the same name, also after a restart",
    async (name) => {
      const replies = [calls({}, delta({ [name]: "Let me " }), delta({ [name]: "look." })), done, done];
      const [called, answered] = await replayed(replies);
      expect(called).toMatchObject({ content: null, [name]: "Let me look.", tool_calls: [{ id: "c1" }] });
      // Without thoughts of its own: DeepSeek refuses a message that lacks the member.
      expect(answered).toEqual({ role: "assistant", content: "Done.", [name]: "" });
    },
  );

  test("is an empty reasoning, where the server told one", async () => {
    const [called] = await replayed([calls({}, delta({ reasoning_content: "" })), done, done]);
    expect(called).toMatchObject({ reasoning_content: "" });
  });

  test("is what came with a call as extra_content, also in a fragment of its own", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    for (const reply of [
      calls({ extra_content }),
      sseReply([
        delta({ tool_calls: [{ id: "c1", function: { name: "echo", arguments: "{}" } }] }),
        delta({ tool_calls: [{ extra_content }] }),
        finish("stop"),
      ]),
    ]) {
      const [called] = await replayed([reply, done, done]);
      expect(called).toMatchObject({ tool_calls: [{ id: "c1", extra_content }] });
    }
  });

  test("is nothing where it told nothing, and nothing of another model", async () => {
    const [plain] = await replayed([done, done]);
    expect(Object.keys(plain ?? {})).toEqual(["role", "content"]);
    const extra_content = { google: { thought_signature: "c2ln" } };
    const replies = [calls({ extra_content }, delta({ reasoning_content: "Hm" })), done, done];
    const [other] = await replayed(replies, "another-model");
    expect(JSON.stringify(other ?? {})).not.toMatch(/c2ln|Hm/);
  });
});
