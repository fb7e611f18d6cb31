import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RedactedRecords } from "../../src/cli/sessions/redact/redacted-records.ts";
import { MASK, Redactor } from "../../src/cli/sessions/redact/redactor.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { decodeRecord, recordEvents } from "../../src/session/records.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { callDelta, reasoningDelta, textDelta, toEvents, turnStart } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

// Put together here, so that no scanner takes this file for a leak.
const key = (start: string, length = 40) => start + "aB3dE5".repeat(20).slice(0, length);

const SECRETS: readonly (readonly [name: string, before: string, secret: string, after: string])[] = [
  ["an OpenAI key", "key ", key("sk-proj-"), "."],
  ["an Anthropic key", "", key("sk-ant-api03-"), " is it"],
  ["a GitHub token", "push with ", key("ghp_", 36), "\n"],
  ["a fine-grained GitHub token", "", key("github_pat_"), ""],
  ["a GitLab token", "", key("glpat-", 20), ""],
  ["an AWS key", "id=", `AKIA${"IOSFODNN7EXAMPLE"}`, ","],
  ["a Google key", "", key("AIza", 35), ""],
  ["a Slack token", "", key("xoxb-", 30), ""],
  ["a Stripe key", "", key("sk_live_", 24), ""],
  ["an npm token", "", key("npm_", 36), ""],
  ["a Hugging Face token", "", key("hf_", 34), ""],
  ["a JSON Web Token", "see ", `${key("eyJ", 20)}.${key("eyJ", 30)}.${key("", 40)}`, ""],
  ["a bearer token", "Authorization: Bearer ", key("", 24), ""],
  ["basic credentials", "authorization: basic ", "dXNlcjpwYXNz", ""],
  ["the password of a URL", "postgres://app:", "hunter2!x", "@db/prod"],
  ["a variable of an environment", "DB_PASSWORD=", "correct-horse", "\nNEXT=1"],
  ["a member of JSON", '{"api_key": "', "some words", '"}'],
  ["a member of JSON in a text", '{\\"client_secret\\":\\"', "abcdef", '\\"}'],
  [
    "a private key",
    "cat id\n",
    `-----BEGIN OPENSSH ${"PRIVATE KEY"}-----\nabc\n-----END OPENSSH ${"PRIVATE KEY"}-----`,
    "\n",
  ],
  ["a private key that is cut off", "", `-----BEGIN ${"PRIVATE KEY"}-----\nabc\ndef`, ""],
];

describe("a mask", () => {
  test.each(SECRETS)("hides %s and nothing else", (_, before, secret, after) => {
    const redactor = new Redactor([]);
    expect(redactor.text(before + secret + after)).toBe(before + MASK + after);
    expect(redactor.masked).toBe(1);
    // What was masked is not masked again.
    expect(redactor.text(before + MASK + after)).toBe(before + MASK + after);
    expect(redactor.masked).toBe(1);
  });

  test.each([
    "Read the bearer of bad news, and the basic rules.",
    "https://example.com:8080/a@b and user@example.com",
    "sk-short, sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "inputTokens: 12345678, the token count",
  ])("leaves a text without secrets: %s", (text) => {
    const redactor = new Redactor([]);
    expect(redactor.text(text)).toBe(text);
    expect(redactor.masked).toBe(0);
  });

  test("of given patterns hides each place, and no empty one; a text that is in two is one place", () => {
    const redactor = new Redactor(["ACME-\\d+", "x*", "-1"]);
    expect(redactor.text("ACME-1, ACME-22 xx")).toBe(`${MASK}, ${MASK} ${MASK}`);
    expect(redactor.masked).toBe(3);
    expect(() => new Redactor(["("])).toThrow(/regular expression/);
  });

  test("in a value keeps its shape, the words of the format, and what names apart", () => {
    const redactor = new Redactor(["message|result|call-\\d"]);
    const value = {
      type: "tool/result",
      seq: 7,
      data: [{ toolCallId: "call-1", kind: "result" }, { toolCallId: "call-2" }, { callId: "call-1" }],
      password: "short",
      [key("sk-")]: null,
    };
    expect(redactor.value(value)).toEqual({
      type: "tool/result",
      seq: 7,
      data: [
        { toolCallId: `${MASK}-1`, kind: "result" },
        { toolCallId: `${MASK}-2` },
        { callId: `${MASK}-1` },
      ],
      password: MASK,
      [`${MASK}-3`]: null,
    });
    const plain = { a: ["b"] };
    expect(redactor.value(plain)).toBe(plain);
  });
});

test("events stay readable, each of its type and in its place, whatever a pattern finds", () => {
  const redacted = new RedactedRecords(new Redactor(["."]));
  const events = toEvents(allEventDrafts());
  const shown = [...recordsOf(events).flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
  const read = shown.map(({ text }) => decodeRecord(text, {}).record);
  expect(read.map(({ type, seq, time }) => [type, seq, time])).toEqual(
    events.map(({ type, seq, time }) => [type, seq, time]),
  );
});

/** The drafts of a text that is streamed in pieces, cut at any places. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const at = [
    0,
    ...[...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b),
    text.length,
  ];
  return at.slice(1).map((end, k) => text.slice(at[k], end));
}

const AT = { turn: 1, step: 1 };

describe("a streamed secret", () => {
  test("is hidden however it is cut, between the pieces of other texts, and every event stays", () => {
    const secret = key("sk-", 30);
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 9 }),
        (textCuts, callCuts, sizes) => {
          const text = `Use ${secret} or ${secret}, then "go".`;
          const args = `{"key":"${secret}"}`;
          const drafts: EventDraft[] = [turnStart(1)];
          const [a, b] = [pieces(text, textCuts), pieces(args, callCuts)];
          for (let k = 0; k < Math.max(a.length, b.length); k += 1) {
            if (a[k] !== undefined) drafts.push(textDelta(AT, a[k] ?? ""), reasoningDelta(AT, "hm ", 2));
            if (b[k] !== undefined) drafts.push(callDelta(AT, "c", b[k] ?? "", { index: 1 }));
          }
          const redactor = new Redactor([]);
          const redacted = new RedactedRecords(redactor);
          const events = toEvents(drafts);
          const records = recordsOf(events, sizes.length === 0 ? undefined : [...sizes, events.length]);
          const shown = [...records.flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
          expect(shown.map(({ seq, count }) => [seq, count])).toEqual(events.map(({ seq }) => [seq, 1]));
          expect(redactor.masked).toBe(3);
          const read = shown.flatMap((record) => recordEvents(record));
          expect(joined(read, "text")).toBe(`Use ${MASK} or ${MASK}, then "go".`);
          expect(joined(read, "argumentsDelta")).toBe(`{"key":"${MASK}"}`);
        },
      ),
      { numRuns: 60 },
    );
  });
});

function joined(events: readonly { readonly data: unknown }[], member: "text" | "argumentsDelta"): string {
  return events
    .flatMap(({ data }) => {
      const chunk: unknown =
        typeof data === "object" && data !== null ? Reflect.get(data, "chunk") : undefined;
      if (typeof chunk !== "object" || chunk === null || Reflect.get(chunk, "index") === 2) return [];
      const text: unknown = Reflect.get(chunk, member);
      return typeof text === "string" ? [text] : [];
    })
    .join("");
}
