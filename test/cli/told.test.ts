import { expect, test } from "bun:test";
import { describeEnd, formatDuration, retryOf, tokensText } from "../../src/cli/sessions/show/told.ts";

test.each([
  [-5, "0 ms"],
  [999, "999 ms"],
  [1_000, "1.0 s"],
  [59_949, "59.9 s"],
  [59_950, "1 min 0 s"],
  [3_599_600, "1 h 0 min"],
  [5_000_000_000, "1,388 h 53 min"],
])("%d milliseconds are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("tokens are told where there are any", () => {
  const none = {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  expect(tokensText(none)).toBe("");
  expect(tokensText({ ...none, inputTokens: 1_234 })).toBe("tokens: 1,234 in, 0 out");
  expect(tokensText({ ...none, outputTokens: 9, cacheReadTokens: 5, reasoningTokens: 7 })).toBe(
    "tokens: 0 in, 9 out (5 from a cache, 7 reasoning)",
  );
});

test("events of any shape are told as far as they go", () => {
  const event = (data: unknown) => ({ type: "x/y", seq: 0, time: 0, data });
  expect(retryOf(event(null))).toBe("Attempt failed; tried again");
  expect(retryOf(event({ attempt: 2, error: { message: "no" } }))).toBe("Attempt 2 failed: no; tried again");
  expect(describeEnd({ kind: "aborted", reason: { kind: "hook", reason: "too late" } })).toBe(
    "aborted by hook, too late",
  );
});
