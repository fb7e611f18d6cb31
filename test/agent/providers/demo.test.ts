import { describe, expect, test } from "bun:test";
import type { ModelRequest } from "../../../src/agent/provider.ts";
import { createDemo } from "../../../src/agent/providers/demo/index.ts";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../../src/agent/tools/registry.ts";
import { eventSchemas } from "../../../src/session/event-schemas.ts";
import type { Chunk, ContentBlock, ModelMessage } from "../../../src/session/events.ts";
import { TestFolder } from "../tools/folder.ts";

const never = () => new AbortController().signal;

function user(text: string, kind = "user"): ModelMessage {
  return { id: "u", role: "user", content: [{ type: "text", text }], source: { kind } };
}

function request(tools: ToolRegistry, messages: readonly ModelMessage[]): ModelRequest {
  return { config: { provider: "demo", model: "demo" }, tools: tools.descriptors(), messages };
}

async function step(tools: ToolRegistry, messages: readonly ModelMessage[]): Promise<ContentBlock[]> {
  const chunks = await Array.fromAsync(createDemo().stream(request(tools, messages), never()));
  return chunks.flatMap((chunk) => (chunk.type === "block-end" ? [chunk.block] : []));
}

/** Runs Steps until the demo model is done, as the loop of an agent would, and adds them to `messages`. */
async function turn(tools: ToolRegistry, messages: ModelMessage[]): Promise<ContentBlock[][]> {
  const steps: ContentBlock[][] = [];
  for (;;) {
    const content = await step(tools, messages);
    steps.push(content);
    messages.push({ role: "assistant", content, source: { kind: "model", provider: "demo", model: "demo" } });
    const calls = content.filter((block) => block.type === "tool-call");
    if (calls.length === 0) return steps;
    for (const { id, name, arguments: args } of calls) {
      const { text, error } = await tools.call(name, args, never());
      messages.push({
        role: "user",
        content: [
          {
            type: "tool-result",
            toolCallId: id,
            content: [{ type: "text", text }],
            isError: error !== undefined,
          },
        ],
        source: { kind: "tool", callId: id },
      });
    }
  }
}

function textOf(content: readonly ContentBlock[] | undefined): string {
  return content?.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("") ?? "";
}

describe("a Turn of the demo model", () => {
  test("lists and searches, reads the README, and says what it found", async () => {
    await using folder = await TestFolder.create({
      "README.md": "# A fine project\n\nmore",
      "src/a.ts": "export const persistence = 1;\n",
      ".env": "",
    });
    const tools = new ToolRegistry(workspaceTools(folder.root));
    const steps = await turn(tools, [user("How does the persistence work?")]);
    expect(steps).toHaveLength(3);
    expect(steps[0]?.map((block) => block.type)).toEqual(["reasoning", "text", "tool-call", "tool-call"]);
    expect<unknown>(steps[0]?.slice(2)).toEqual([
      { type: "tool-call", id: "demo-call-1", name: "list_files", arguments: '{"path":".","depth":2}' },
      { type: "tool-call", id: "demo-call-2", name: "search_text", arguments: '{"text":"persistence"}' },
    ]);
    expect<unknown>(steps[1]?.at(-1)).toEqual({
      type: "tool-call",
      id: "demo-call-3",
      name: "read_file",
      arguments: '{"path":"README.md","limit":40}',
    });
    expect(textOf(steps[2])).toBe(
      [
        "Here is what I found in the workspace:",
        "",
        "- 1 folder, 3 files",
        "- README.md begins with “# A fine project”",
        '- Search: 1 line with "persistence" in 1 file; 3 files searched',
        "- First hit: src/a.ts:1: export const persistence = 1;",
        "",
        "This is message 1 of our conversation.",
      ].join("\n"),
    );
  });

  test("counts the messages of the conversation and never uses a call id twice", async () => {
    await using folder = await TestFolder.create({ "a.txt": "first line" });
    const tools = new ToolRegistry(workspaceTools(folder.root));
    const messages: ModelMessage[] = [];
    let last: ContentBlock[] | undefined;
    for (let k = 0; k < 3; k += 1) {
      messages.push(user("hm"));
      last = (await turn(tools, messages)).at(-1);
    }
    expect(textOf(last)).toContain("a.txt begins with “first line”");
    expect(textOf(last)).toEndWith("This is message 3 of our conversation.");
    const ids = messages.flatMap((message) =>
      message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : [])),
    );
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });

  test("without a README it reads the first file that is not hidden", async () => {
    await using folder = await TestFolder.create({ ".a": "", "b/c.txt": "", "d.txt": "", "[x](y).ts": "" });
    const steps = await turn(new ToolRegistry(workspaceTools(folder.root)), [user("hm")]);
    expect(steps[1]?.at(-1)).toMatchObject({
      name: "read_file",
      arguments: '{"path":"[x](y).ts","limit":40}',
    });
  });

  test("ends well in an empty workspace, and in one that does not exist", async () => {
    await using folder = await TestFolder.create();
    const empty = await turn(new ToolRegistry(workspaceTools(folder.root)), [user("hm")]);
    expect(textOf(empty.at(-1))).toContain("- 0 folders, 0 files");
    const missing = await turn(new ToolRegistry(workspaceTools(`${folder.root}/nothing`)), [user("hello")]);
    expect(textOf(missing.at(-1))).toContain("- No listing: ");
    expect([empty.length, missing.length]).toEqual([2, 2]);
  });

  test("looks at nothing before the last message that is not a tool's", async () => {
    await using folder = await TestFolder.create({ "a.txt": "x" });
    const tools = new ToolRegistry(workspaceTools(folder.root));
    const messages = [user("one")];
    await turn(tools, messages);
    messages.push(user("note from elsewhere", "reminder"));
    expect((await step(tools, messages)).map((block) => block.type)).toContain("tool-call");
  });
});

describe("an answer of text only", () => {
  test("follows an input that begins with say", async () => {
    await using folder = await TestFolder.create();
    const tools = new ToolRegistry(workspaceTools(folder.root));
    expect(await step(tools, [user("Say  hello 😀\nthere")])).toEqual([
      { type: "text", text: "hello 😀\nthere" },
    ]);
  });

  test("is given where no tools are offered", async () => {
    const content = await step(new ToolRegistry(), [user("What is this?")]);
    expect(content.map((block) => block.type)).toEqual(["reasoning", "text"]);
    expect(textOf(content)).toContain("“What is this?”");
    expect(textOf(content)).toEndWith("This is message 1 of our conversation.");
  });
});

describe("the stream", () => {
  const plain = request(new ToolRegistry(), [user("hello world")]);

  test("is the same for the same request", async () => {
    await using folder = await TestFolder.create({ "a.txt": "x" });
    const asked = request(new ToolRegistry(workspaceTools(folder.root)), [user("hello world")]);
    const first = await Array.fromAsync(createDemo().stream(asked, never()));
    expect(await Array.fromAsync(createDemo().stream(structuredClone(asked), never()))).toEqual(first);
  });

  test("follows the format: blocks from 0, deltas that make up their block, usage, one finish at the end", async () => {
    await using folder = await TestFolder.create();
    const asked = request(new ToolRegistry(workspaceTools(folder.root)), [user("hello world")]);
    const chunks = await Array.fromAsync(createDemo().stream(asked, never()));
    const written: string[] = [];
    for (const chunk of chunks) {
      expect(eventSchemas().data["assistant/chunk"].safeParse({ turn: 1, step: 1, chunk }).success).toBe(
        true,
      );
      if (chunk.type === "block-start") expect(written.push("")).toBe(chunk.index + 1);
      else if (chunk.type === "text-delta" || chunk.type === "reasoning-delta")
        written[chunk.index] += chunk.text;
      else if (chunk.type === "tool-call-delta") written[chunk.index] += chunk.argumentsDelta;
      else if (chunk.type === "block-end") {
        const { block } = chunk;
        const whole = block.type === "tool-call" ? block.arguments : "text" in block ? block.text : "";
        expect(written[chunk.index]).toBe(String(whole));
      }
    }
    expect(chunks.slice(-2).map((chunk) => chunk.type)).toEqual(["usage", "finish"]);
    expect(chunks.filter((chunk) => chunk.type === "text-delta").length).toBeGreaterThan(3);
  });

  test("reports usage that grows with the history", async () => {
    const usageOf = async (messages: ModelMessage[]) => {
      const chunks = await Array.fromAsync(
        createDemo().stream(request(new ToolRegistry(), messages), never()),
      );
      const found = chunks.find((chunk) => chunk.type === "usage");
      if (found === undefined) throw new Error("no usage");
      return found.usage;
    };
    const short = await usageOf([user("hi")]);
    const long = await usageOf([user("hi".repeat(1000)), user("hi")]);
    expect(long.inputTokens).toBe(short.inputTokens + 500);
    expect(short.outputTokens).toBeGreaterThan(0);
  });

  test("waits before each delta when it is given a delay, and for nothing else", async () => {
    let waits = 0;
    const demo = createDemo({
      delay: async () => {
        waits += 1;
      },
    });
    const chunks: Chunk[] = await Array.fromAsync(demo.stream(plain, never()));
    expect(waits).toBe(chunks.filter((chunk) => chunk.type.endsWith("-delta")).length);
  });

  test("stops between chunks with the signal's reason, also where a delay is stopped", async () => {
    const reason = new Error("enough");
    const controller = new AbortController();
    const collect = async (demo: ReturnType<typeof createDemo>, signal: AbortSignal) => {
      for await (const chunk of demo.stream(plain, signal))
        if (chunk.type === "text-delta") controller.abort(reason);
    };
    const caught = (promise: Promise<void>): Promise<unknown> => promise.catch((error: unknown) => error);
    expect(await caught(collect(createDemo(), controller.signal))).toBe(reason);
    expect(await caught(collect(createDemo(), controller.signal))).toBe(reason);
    const stopped = new AbortController();
    const demo = createDemo({
      delay: async () => {
        stopped.abort(reason);
        throw new Error("the delay's own error");
      },
    });
    expect(await caught(collect(demo, stopped.signal))).toBe(reason);
  });
});
