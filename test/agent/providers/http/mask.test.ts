import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DeltaGuard } from "../../../../src/agent/providers/http/guard.ts";
import { keyMask, SecretFilter } from "../../../../src/agent/providers/http/mask.ts";
import type { Chunk } from "../../../../src/session/events.ts";

const KEY = 'sk-ant-0/1+2"3\\4?secret';

describe("a key in what a provider writes", () => {
  test.each([
    ["as it is", KEY],
    ["in capitals", KEY.toUpperCase()],
    ["as JSON", JSON.stringify(KEY).slice(1, -1)],
    ["as JSON that escapes slashes", JSON.stringify(KEY).slice(1, -1).replaceAll("/", "\\/")],
    ["in a URL", encodeURIComponent(KEY)],
  ])("is hidden %s", (_, spelling) => {
    expect(keyMask(KEY)(`key=${spelling}&x, ${spelling}`)).toBe("key=[API key]&x, [API key]");
  });

  test.each(["", "x", ":", "user:", "Bearer "])("is hidden in base64 behind %j", (before) => {
    for (const after of ["", "y", " and more"]) {
      const masked = keyMask(KEY)(`Basic ${btoa(before + KEY + after)}`);
      expect(masked).toContain("[API key]");
      // What is left around it says less than a character of the key on either side.
      expect(masked.length).toBeLessThan(40 + (before.length + after.length) * 2);
    }
  });
});

/** A text with the secret in some places, cut anywhere. */
const cutText = fc
  .record({
    parts: fc.array(fc.oneof(fc.constant(KEY), fc.constant(KEY.slice(0, 10)), fc.string({ maxLength: 6 })), {
      maxLength: 6,
    }),
    cuts: fc.array(fc.nat(120), { maxLength: 8 }),
  })
  .map(({ parts, cuts }) => {
    const whole = parts.join("");
    const at = [...cuts.filter((cut) => cut < whole.length), whole.length].sort((a, b) => a - b);
    return { whole, pieces: at.map((end, k) => whole.slice(at[k - 1] ?? 0, end)) };
  });

describe("a key that is spread over pieces", () => {
  test("is never told, and nothing else is lost", () => {
    fc.assert(
      fc.property(cutText, ({ whole, pieces }) => {
        const filter = new SecretFilter(KEY);
        const told = [...pieces.map((piece) => filter.add(piece)), filter.end()].join("");
        expect(told).not.toContain(KEY);
        // Where it began before anyone could know, its first characters stay in front of the mask.
        const masks = told.split("[API key]").length - 1;
        expect(masks).toBe(whole.split(KEY).length - 1);
        expect(filter.found).toBe(masks > 0);
        const around = whole.split(KEY);
        told.split("[API key]").forEach((part, k) => {
          const shown = part.slice((around[k] ?? "").length);
          expect(part).toStartWith(around[k] ?? "");
          expect(KEY).toStartWith(shown);
          expect(shown.length).toBeLessThan(8);
        });
      }),
    );
  });

  test("is told at once where it cannot be the key", () => {
    const filter = new SecretFilter(KEY);
    expect(["sk-", "sk-ant-", "x", "s"].map((piece) => filter.add(piece))).toEqual([
      "sk-",
      "sk-ant-",
      "x",
      "s",
    ]);
  });

  test("is hidden in deltas and in the complete block alike", () => {
    const guard = new DeltaGuard(KEY);
    const half = KEY.length / 2;
    const chunks: Chunk[] = [
      { type: "block-start", index: 0, blockType: "tool-call" },
      { type: "tool-call-delta", index: 0, id: "c", name: "f", argumentsDelta: KEY.slice(0, half) },
      { type: "tool-call-delta", index: 0, id: "c", argumentsDelta: `${KEY.slice(half)}!` },
      { type: "block-end", index: 0, block: { type: "tool-call", id: "c", name: "f", arguments: `${KEY}!` } },
    ];
    expect(chunks.flatMap((chunk) => guard.add(chunk)).slice(1)).toEqual([
      { type: "tool-call-delta", index: 0, id: "c", name: "f", argumentsDelta: "[API key]!" },
      {
        type: "block-end",
        index: 0,
        block: { type: "tool-call", id: "c", name: "f", arguments: "[API key]!" },
      },
    ]);
  });
});

describe("characters that deltas cut in two", () => {
  test("are put together: each delta is well-formed, and together they are the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(20), { maxLength: 6 }), (whole, cuts) => {
        const at = [...cuts.filter((cut) => cut < whole.length), whole.length].sort((a, b) => a - b);
        const guard = new DeltaGuard(undefined);
        const deltas = at.flatMap((end, k) =>
          guard.add({ type: "text-delta", index: 0, text: whole.slice(at[k - 1] ?? 0, end) }),
        );
        const told = deltas.map((chunk) => (chunk.type === "text-delta" ? chunk.text : ""));
        expect(told.every((piece) => piece !== "" && piece.isWellFormed())).toBe(true);
        expect(told.join("")).toBe(whole);
      }),
    );
  });

  test.each<[string, Chunk[]]>([
    ["before other text", [{ type: "text-delta", index: 0, text: "\ud83dx" }]],
    ["without its first half", [{ type: "reasoning-delta", index: 0, text: "\ude00" }]],
    [
      "at the end of its block, also when another block brings the rest",
      [
        { type: "text-delta", index: 0, text: "\ud83d" },
        { type: "reasoning-delta", index: 1, text: "x" },
        { type: "block-end", index: 0, block: { type: "text", text: "\ud83d" } },
      ],
    ],
    ["in an id", [{ type: "tool-call-delta", index: 0, id: "\ud83d", argumentsDelta: "" }]],
    [
      "in a name",
      [
        {
          type: "block-end",
          index: 0,
          block: { type: "tool-call", id: "c", name: "\ud83d", arguments: "{}" },
        },
      ],
    ],
  ])("are an error %s", (_, chunks) => {
    const guard = new DeltaGuard(undefined);
    expect(() => chunks.flatMap((chunk) => guard.add(chunk))).toThrow("half a character");
  });
});
