import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeHeader, parseHeader, type SessionHeader, serialiseHeader } from "../../src/session/header.ts";
import { oddString } from "../fixtures/arbitraries.ts";

const FULL: SessionHeader = {
  version: 0,
  id: "s-1",
  createdAt: 1_700_000_000_000,
  cwd: "C:\\work",
  parentSession: "s-0",
  seedLength: 12,
  origin: "subagent",
  delegationDepth: 1,
  agentPreset: "standard",
};
const MINIMAL: SessionHeader = { version: 0, id: "s", createdAt: 0 };
const PLACE = { path: "/sessions/s/session.jsonl", row: 1 };

function decode(header: unknown): SessionHeader {
  return decodeHeader(JSON.stringify(header), PLACE);
}

describe("a header", () => {
  test("is written with its keys in the order of the format", () => {
    const reversed = Object.fromEntries(Object.entries(FULL).reverse());
    expect(serialiseHeader(parseHeader(reversed))).toBe(JSON.stringify(FULL));
  });

  test("is read as it was written, and frozen", () => {
    const id = oddString().filter((text) => text !== "");
    fc.assert(
      fc.property(id, oddString(), fc.maxSafeNat(), (sessionId, cwd, createdAt) => {
        const header: SessionHeader = { ...MINIMAL, id: sessionId, cwd, createdAt };
        const read = decodeHeader(serialiseHeader(header), PLACE);
        expect(read).toEqual(header);
        expect(Object.isFrozen(read)).toBe(true);
      }),
    );
  });

  test("needs no optional member", () => {
    expect(decode(MINIMAL)).toEqual(MINIMAL);
  });

  test("may have members that this version does not know; they are ignored", () => {
    expect(decode({ type: "session", ...MINIMAL, later: { deep: [1] }, __proto: 1 })).toEqual(MINIMAL);
  });
});

describe("another version", () => {
  test.each([
    [1, "newer"],
    [3, "newer"],
    [-1, "older"],
  ])("%d is unsupported, with the direction", (version, direction) => {
    const hint = direction === "newer" ? "Use a newer version" : "no path from this older version";
    expect(() => decode({ ...MINIMAL, version })).toThrow(
      expect.objectContaining({
        code: "unsupported-format",
        message: `The session has format version ${version}; this program reads version 0`,
        hint: expect.stringContaining(hint),
        place: PLACE,
      }),
    );
  });

  test("is told before any shape is looked at", () => {
    expect(() => decode({ version: 4, id: 7, createdAt: "yesterday" })).toThrow(
      expect.objectContaining({ code: "unsupported-format" }),
    );
  });
});

describe("a malformed header is corrupt", () => {
  test.each([
    ["version", "0"],
    ["version", null],
    ["id", ""],
    ["id", 7],
    ["createdAt", -1],
    ["createdAt", 1.5],
    ["createdAt", 2 ** 53],
    ["createdAt", "2024-01-01"],
    ["cwd", null],
    ["parentSession", 1],
    ["seedLength", -3],
    ["origin", true],
    ["delegationDepth", 0.5],
    ["agentPreset", []],
  ])("when %s is %j", (key, value) => {
    expect(() => decode({ ...FULL, [key]: value })).toThrow(
      expect.objectContaining({ code: "corrupt", found: expect.stringContaining(key), place: PLACE }),
    );
  });

  test.each(["version", "id", "createdAt"])("when %s is missing", (key) => {
    const rest = Object.fromEntries(Object.entries(FULL).filter(([name]) => name !== key));
    expect(() => decode(rest)).toThrow(
      expect.objectContaining({ code: "corrupt", found: expect.stringContaining(key) }),
    );
  });

  test.each([
    "",
    "null",
    "7",
    '"text"',
    "[]",
    '{"version":0',
    '{"version":0,"id":"a","createdAt":0}}',
    "\u0000\u0000",
  ])("when the text is %j", (text) => {
    expect(() => decodeHeader(text, PLACE)).toThrow(
      expect.objectContaining({ code: "corrupt", place: PLACE }),
    );
  });

  test("when it holds a number that is infinite, or 100,000 levels", () => {
    for (const extra of ["1e999", "[".repeat(100_000) + "]".repeat(100_000)]) {
      const text = `{"version":0,"id":"a","createdAt":0,"extra":${extra}}`;
      expect(() => decodeHeader(text, PLACE)).toThrow(expect.objectContaining({ code: "corrupt" }));
    }
  });
});
