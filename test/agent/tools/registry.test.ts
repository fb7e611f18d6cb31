import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Tool, ToolError } from "../../../src/agent/tool.ts";
import { ToolRegistrationError, ToolRegistry } from "../../../src/agent/tools/registry.ts";
import type { JsonObject } from "../../../src/session/json.ts";
import { careless } from "../../fixtures/test-tools.ts";

function tool(name: string, run: Tool["run"], parameters: JsonObject = { type: "object" }): Tool {
  return { name, description: `The tool ${name}`, parameters, run };
}

const echo = tool("echo", async (args) => ({ text: JSON.stringify(args) }), {
  type: "object",
  properties: { a: { type: "integer", minimum: 1 }, b: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
});

const never = () => new AbortController().signal;

describe("registration", () => {
  test("a name that is taken is refused", () => {
    const registry = new ToolRegistry([echo]);
    expect(() => registry.register(tool("echo", async () => ({ text: "other" })))).toThrow(
      ToolRegistrationError,
    );
  });

  test("parameters that are no object schema are refused", () => {
    expect(() => new ToolRegistry([tool("x", async () => ({ text: "" }), { type: "string" })])).toThrow(
      ToolRegistrationError,
    );
  });

  test("descriptors are sorted by name and hold nothing else of the tool", () => {
    const names = ["b", "a", "Z", "ä"];
    const registry = new ToolRegistry(names.map((name) => tool(name, async () => ({ text: "" }))));
    expect(registry.descriptors().map((descriptor) => descriptor.name)).toEqual(["Z", "a", "b", "ä"]);
    expect(Object.keys(registry.descriptors()[0] ?? {})).toEqual(["name", "description", "parameters"]);
  });
});

describe("a call", () => {
  const registry = new ToolRegistry([echo]);

  test("gives the handler the parsed arguments", async () => {
    expect(await registry.call("echo", ' {"a": 1, "b": "x"} ', never())).toEqual({ text: '{"a":1,"b":"x"}' });
  });

  test("with an empty text has no arguments", async () => {
    const open = new ToolRegistry([tool("x", async (args) => ({ text: JSON.stringify(args) }))]);
    expect(await open.call("x", "", never())).toEqual({ text: "{}" });
    expect(await open.call("x", " \n", never())).toEqual({ text: "{}" });
  });

  test("gives nothing that is to be hidden, be it in a text, in metadata or in what a handler throws", async () => {
    const hide = (text: string) => text.replaceAll("secret", "[hidden]");
    const given = tool("given", async () => ({ text: "a secret", meta: { path: "secret.txt" } }));
    const failing = tool("failing", () => Promise.reject(new ToolError("E", "C", "no secret")));
    const registry = new ToolRegistry([given, failing], { hide });
    expect(JSON.stringify(await registry.call("given", "", never()))).toBe(
      '{"text":"a [hidden]","meta":{"hidden":"{\\"path\\":\\"[hidden].txt\\"}"}}',
    );
    expect((await registry.call("failing", "", never())).text).toBe("no [hidden]");
  });

  test("keeps metadata as a frozen copy", async () => {
    const meta = { hits: [1, 2] };
    const outcome = await new ToolRegistry([tool("x", async () => ({ text: "ok", meta }))]).call(
      "x",
      "",
      never(),
    );
    meta.hits.push(3);
    expect(outcome).toEqual({ text: "ok", meta: { hits: [1, 2] } });
    expect(Object.isFrozen(outcome.meta)).toBe(true);
  });
});

describe("what goes wrong becomes an outcome with a stable code, and says what to do", () => {
  const failing = (failure: unknown) =>
    new ToolRegistry([
      tool("x", async () => {
        throw failure;
      }),
    ]);

  test("an unknown tool names the ones that exist", async () => {
    const outcome = await new ToolRegistry([echo]).call("ecko", "{}", never());
    expect(outcome.error).toEqual({ name: "UnknownToolError", code: "TOOL_UNKNOWN" });
    expect(outcome.text).toBe('There is no tool "ecko". Available tools: echo.');
    expect((await new ToolRegistry().call("__proto__", "{}", never())).text).toContain(
      "No tools are available",
    );
  });

  test.each(["{", "nonsense", "[1]", "null", "1", '"x"', '{"a":1e999}', `${"[".repeat(100_000)}`])(
    "arguments that are no JSON object: case %#",
    async (args) => {
      const outcome = await new ToolRegistry([echo]).call("echo", args, never());
      expect(outcome.error).toEqual({ name: "ToolArgumentsError", code: "TOOL_ARGUMENTS_NOT_JSON" });
      expect(outcome.text).toEndWith("Write the arguments as one JSON object and call the tool again.");
    },
  );

  test("nesting without end is refused and does not overflow the stack", async () => {
    const open = new ToolRegistry([tool("x", async () => ({ text: "" }))]);
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect((await open.call("x", deep, never())).error?.code).toBe("TOOL_ARGUMENTS_NOT_JSON");
  });

  test.each([
    ["{}", "a: "],
    ['{"a":"1"}', "a: "],
    ['{"a":0}', "a: "],
    ['{"a":1.5}', "a: "],
    ['{"a":1,"b":null}', "b: "],
    ['{"a":1,"other":1}', "other"],
  ])("arguments that break the schema: %s", async (args, hint) => {
    const outcome = await new ToolRegistry([echo]).call("echo", args, never());
    expect(outcome.error).toEqual({ name: "ToolArgumentsError", code: "TOOL_ARGUMENTS_INVALID" });
    expect(outcome.text).toContain(hint);
    expect(outcome.text).toEndWith("Correct them and call it again.");
  });

  test("a schema that cannot be checked fits no arguments", async () => {
    const odd = tool("odd", async () => ({ text: "ran" }), {
      type: "object",
      properties: { a: { not: { type: "string" } } },
    });
    expect((await new ToolRegistry([odd]).call("odd", "{}", never())).error?.code).toBe(
      "TOOL_ARGUMENTS_INVALID",
    );
  });

  test("a ToolError keeps its name, code and message", async () => {
    const outcome = await failing(new ToolError("WorkspaceError", "WORKSPACE_NOT_FOUND", "gone")).call(
      "x",
      "",
      never(),
    );
    expect(outcome).toEqual({ text: "gone", error: { name: "WorkspaceError", code: "WORKSPACE_NOT_FOUND" } });
  });

  test.each([[new Error("boom")], ["a string"], [undefined], [Object.create(null)]])(
    "whatever else a handler throws is a failed tool: case %#",
    async (failure) => {
      const outcome = await failing(failure).call("x", "", never());
      expect(outcome.error).toEqual({ name: "ToolFailedError", code: "TOOL_FAILED" });
      expect(outcome.text).toStartWith('The tool "x" failed');
    },
  );

  test("a handler that throws before it returns a promise counts as well", async () => {
    const eager = tool("x", () => {
      throw new Error("at once");
    });
    expect((await new ToolRegistry([eager]).call("x", "", never())).error?.code).toBe("TOOL_FAILED");
  });

  test.each([[{ text: 5 }], [{}], [{ text: null }], [null], [undefined], ["text"]])(
    "output without a text: case %#",
    async (output) => {
      const outcome = await new ToolRegistry([careless(output)]).call("careless", "", never());
      expect(outcome.error?.code).toMatch(/^TOOL_(OUTPUT_INVALID|FAILED)$/);
    },
  );

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  test.each([[new Date(0)], [Number.NaN], [{ a: undefined }], [1n], [() => 1], [new Map()], [cycle]])(
    "metadata that JSON cannot keep: case %#",
    async (meta) => {
      const outcome = await new ToolRegistry([careless({ text: "ok", meta })]).call("careless", "", never());
      expect(outcome.error).toEqual({ name: "ToolOutputError", code: "TOOL_OUTPUT_INVALID" });
    },
  );

  test("no text of arguments makes a call throw", async () => {
    const registry = new ToolRegistry([echo]);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.json()), async (args) => {
        expect(typeof (await registry.call("echo", args, never())).text).toBe("string");
      }),
    );
  });
});

describe("cancelling", () => {
  const reason = new Error("the caller's own reason");
  const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

  test("a signal that has fired already runs nothing", async () => {
    let runs = 0;
    const counted = tool("x", async () => {
      runs += 1;
      return { text: "" };
    });
    expect(await caught(new ToolRegistry([counted]).call("x", "", AbortSignal.abort(reason)))).toBe(reason);
    expect(runs).toBe(0);
  });

  test("a handler that stops on the signal leads to the signal's reason, not to an outcome", async () => {
    const controller = new AbortController();
    const obedient = tool("x", async (_, signal) => {
      controller.abort(reason);
      if (signal.aborted) throw new Error("stopped");
      return { text: "" };
    });
    expect(await caught(new ToolRegistry([obedient]).call("x", "", controller.signal))).toBe(reason);
  });

  test("a handler that ignores the signal is not waited for", async () => {
    const controller = new AbortController();
    const deaf = tool("x", () => {
      controller.abort(reason);
      return new Promise(() => undefined);
    });
    expect(await caught(new ToolRegistry([deaf]).call("x", "", controller.signal))).toBe(reason);
  });
});
