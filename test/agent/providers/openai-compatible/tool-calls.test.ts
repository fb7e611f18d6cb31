import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { assemble, blocksOf, toolDelta } from "../../../fixtures/assembled.ts";
import { finish, usage } from "../../../fixtures/provider-server.ts";

describe("tool calls", () => {
  test("the deltas name the call, the first one with its name, and make up its arguments", () => {
    const chunks = assemble([
      toolDelta(0, { id: "c1", name: "f", arguments: "" }),
      toolDelta(0, { arguments: '{"a"' }),
      toolDelta(0, { arguments: ":1}" }),
      finish("tool_calls"),
    ]);
    expect(chunks).toEqual([
      { type: "block-start", index: 0, blockType: "tool-call" },
      { type: "tool-call-delta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a"' },
      { type: "tool-call-delta", index: 0, id: "c1", argumentsDelta: ":1}" },
      {
        type: "block-end",
        index: 0,
        block: { type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' },
      },
      { type: "finish", reason: { kind: "tool-calls" } },
    ]);
  });

  test("several calls that arrive side by side end in index order when the answer is over", () => {
    const chunks = assemble([
      toolDelta(0, { id: "a", name: "f" }),
      toolDelta(1, { id: "b", name: "g" }),
      toolDelta(1, { arguments: "[1" }),
      toolDelta(0, { arguments: "[2" }),
      toolDelta(1, { arguments: "]" }),
      toolDelta(0, { arguments: "]" }),
      finish("tool_calls"),
      usage(1, 1),
    ]);
    expect(blocksOf(chunks)).toEqual([
      { type: "tool-call", id: "a", name: "f", arguments: "[2]" },
      { type: "tool-call", id: "b", name: "g", arguments: "[1]" },
    ]);
    expect(
      chunks.slice(-4).map((chunk) => ("index" in chunk ? [chunk.type, chunk.index] : [chunk.type])),
    ).toEqual([["block-end", 0], ["block-end", 1], ["usage"], ["finish"]]);
  });

  test("empty arguments become an empty object", () => {
    const [block] = blocksOf(
      assemble([toolDelta(0, { id: "c", name: "f", arguments: "" }), finish("tool_calls")]),
    );
    expect(block).toMatchObject({ arguments: "{}" });
  });

  test("arguments that come before the id wait for it", () => {
    const chunks = assemble([
      toolDelta(0, { arguments: "{" }),
      toolDelta(0, { id: "c", name: "f" }),
      toolDelta(0, { arguments: "}" }),
      finish("tool_calls"),
    ]);
    expect(chunks.filter((chunk) => chunk.type === "tool-call-delta")).toEqual([
      { type: "tool-call-delta", index: 0, id: "c", name: "f", argumentsDelta: "{}" },
    ]);
  });

  test("an id and name that are repeated in each fragment count once", () => {
    const fragment = (args: string) => toolDelta(0, { id: "c1", name: "f", arguments: args });
    expect(
      blocksOf(assemble([fragment("{"), fragment('"a":'), fragment("1}"), finish("tool_calls")])),
    ).toEqual([{ type: "tool-call", id: "c1", name: "f", arguments: '{"a":1}' }]);
  });

  test.each([[0], [undefined]])(
    "whole calls that all have the index %p are told apart by their ids",
    (index) => {
      const blocks = blocksOf(
        assemble([
          toolDelta(index, { id: "a", name: "f", arguments: '{"x":1}' }),
          toolDelta(index, { id: "b", name: "g", arguments: '{"y":2}' }),
          finish("stop"),
        ]),
      );
      expect(blocks).toEqual([
        { type: "tool-call", id: "a", name: "f", arguments: '{"x":1}' },
        { type: "tool-call", id: "b", name: "g", arguments: '{"y":2}' },
      ]);
    },
  );

  test("any split of ids, names and arguments, in any mix of calls, gives the same blocks", () => {
    const cut = (text: string) =>
      fc.array(fc.nat(text.length), { maxLength: 4 }).map((at) => {
        const cuts = [0, ...at.sort((a, b) => a - b), text.length];
        return cuts.slice(1).map((end, k) => text.slice(cuts[k], end));
      });
    const callPieces = (id: string, name: string) =>
      fc.record({
        ids: cut(id),
        names: cut(name),
        args: fc.array(fc.string({ unit: "binary", maxLength: 5 }), { maxLength: 6 }),
      });
    fc.assert(
      fc.property(
        callPieces("call_01HXYZ", "list_files"),
        callPieces("call_02QRST", "read_file"),
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        (first, second, picks) => {
          const queues = [first, second].map(({ ids, names, args }, index) => [
            ...ids.map((id) => toolDelta(index, { id })),
            ...names.map((name) => toolDelta(index, { name })),
            ...args.map((text) => toolDelta(index, { arguments: text })),
          ]);
          // The first fragment of the first call comes first, so that block 0 is known to be its block.
          const items = [queues[0]?.shift()];
          for (const pick of picks)
            items.push(queues[pick ? 0 : 1]?.shift() ?? queues[pick ? 1 : 0]?.shift());
          const blocks = blocksOf(
            assemble([...items.filter((item) => item !== undefined), finish("tool_calls")]),
          );
          const expected = ({ ids, names, args }: typeof first) => ({
            type: "tool-call",
            id: ids.join(""),
            name: names.join(""),
            arguments: args.join("").trim() === "" ? "{}" : args.join(""),
          });
          expect<unknown>(blocks).toEqual([expected(first), expected(second)]);
        },
      ),
    );
  });
});
