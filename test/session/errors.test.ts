import { describe, expect, test } from "bun:test";
import {
  CorruptError,
  formatPlace,
  InvalidEventError,
  NotSerialisableError,
} from "../../src/session/errors.ts";

describe("a place", () => {
  test("names its known parts in a fixed order", () => {
    const place = {
      field: "data.turn",
      seq: 7,
      path: "/x.db",
      sessionId: "default",
      row: 3,
      offset: 40,
      eventType: "a/b",
    };
    expect(formatPlace(place)).toBe(
      "file /x.db, session default, byte 40, row 3, seq 7, event a/b, at data.turn",
    );
  });

  test("without known parts is empty", () => {
    expect(formatPlace({})).toBe("");
  });
});

describe("an error", () => {
  test("explains what, where and what to do", () => {
    const error = new InvalidEventError("It is malformed", { seq: 3 });
    expect(error.explain().split("\n")).toEqual([
      "It is malformed",
      "  where: seq 3",
      `  hint: ${error.hint}`,
    ]);
  });

  test("leaves the place out when nothing is known of it", () => {
    expect(new NotSerialisableError("No", {}).explain()).not.toContain("where");
  });

  test("carries the name of its class, a stable code and its cause", () => {
    const cause = new Error("below");
    const error = new CorruptError("Bad", { expected: "a", found: "b", cause });
    expect({ name: error.name, code: error.code, cause: error.cause }).toEqual({
      name: "CorruptError",
      code: "corrupt",
      cause,
    });
  });
});

describe("a corruption finding", () => {
  const finding = new CorruptError("A row is bad", {
    expected: "x: y",
    found: "z",
    place: { row: 2 },
    hint: "Look.",
  });

  test("says what the rule expected and what was found", () => {
    expect(finding.message).toBe("A row is bad: expected x: y, found z");
  });

  test("can be told more of its place; what it knew already wins", () => {
    const placed = finding.at({ path: "/f", row: 9 });
    expect(placed.message).toBe(finding.message);
    expect(placed.place).toEqual({ path: "/f", row: 2 });
    expect(placed.hint).toBe("Look.");
  });
});
