import { describe, expect, test } from "bun:test";
import { ProviderError } from "../../../../src/agent/provider.ts";
import { isEvent, type SessionEvent } from "../../../../src/session/events.ts";
import type { Part, Reply } from "../../../fixtures/provider-server.ts";
import { partsReply, statusReply } from "../../../fixtures/provider-server.ts";
import {
  answer,
  call,
  data,
  END,
  errorAnswer,
  failure,
  finish,
  finishRaw,
  type Item,
  KEY,
  openWireRig,
  reasoning,
  text,
  unended,
  type Wire,
} from "../../../fixtures/wire.ts";
import { expectFailedTurn, expectNoKey, failureOf, wordsOf } from "../../../fixtures/wire-failure.ts";
import { EACH_WIRE } from "../../../fixtures/wires.ts";

const HALF = "half a sentence";
const SAID: Item = text(HALF);
const bad = { code: "provider-bad-response", retryable: true } as const;
const done: Item = finish("stop");
const toolsDone: Item = finish("tool-calls");

/** The items with a JSON text of any kind in the place of their text `@`. */
function retyped(wire: Wire, json: string, ...items: Item[]): Reply {
  const parts = wire.encode([...items, done, END]);
  return partsReply(parts.map((part): Part => (typeof part === "string" ? part.replace('"@"', json) : part)));
}

/** The same, cut off. */
function retypedUnended(wire: Wire, json: string, ...items: Item[]): Reply {
  const parts = wire.encode(items);
  return partsReply(parts.map((part): Part => (typeof part === "string" ? part.replace('"@"', json) : part)));
}

/** Answers that break the protocol, the text that is kept of each, and whether trying again makes sense. */
const BAD: ReadonlyArray<readonly [string, (wire: Wire) => Reply, { said?: string; retryable?: boolean }?]> =
  [
    ["an empty body", () => partsReply([])],
    ["an end without an answer", (wire) => answer(wire)],
    ["a stream that is cut off after some words", (wire) => unended(wire, SAID), { said: HALF }],
    [
      "a stream that is cut off within a call",
      (wire) => unended(wire, SAID, call(0, { id: "a", name: "f", args: '{"t' })),
      { said: HALF },
    ],
    ["more text after the end marker", (wire) => answer(wire, SAID, done, END, text("!")), { said: HALF }],
    ["an end marker in the middle of an answer", (wire) => answer(wire, SAID), { said: HALF }],
    ["a stream that is cut off within an event", (wire) => cutOff(wire), { said: HALF }],
    ["JSON that is malformed", (wire) => answer(wire, SAID, data('{"oops": '), done), { said: HALF }],
    ["NaN where JSON should be", (wire) => answer(wire, SAID, data("NaN"), done), { said: HALF }],
    ["NaN within an event", (wire) => retyped(wire, "NaN", SAID, text("@")), { said: HALF }],
    ["a number for a text", (wire) => retyped(wire, "5", SAID, text("@")), { said: HALF }],
    ["an event that is null", (wire) => answer(wire, SAID, data("null"), done), { said: HALF }],
    ["more text after the finish", (wire) => answer(wire, SAID, done, text("!")), { said: HALF }],
    [
      "a call after the finish",
      (wire) => answer(wire, SAID, done, call(0, { id: "a", name: "f" })),
      { said: HALF },
    ],
    ["two finish reasons", (wire) => answer(wire, SAID, done, finish("max-tokens")), { said: HALF }],
    ["a finish reason that nobody knows", (wire) => answer(wire, SAID, finishRaw("tired")), { said: HALF }],
    ["calls announced and none made", (wire) => answer(wire, SAID, toolsDone), { said: HALF }],
    [
      "a call without an id",
      (wire) => answer(wire, SAID, call(0, { id: "", name: "f", args: "{}" }), toolsDone),
      { said: HALF },
    ],
    [
      "a call without a name",
      (wire) => answer(wire, SAID, call(0, { id: "a", name: "", args: "{}" }), toolsDone),
      { said: HALF },
    ],
    [
      "two calls of one id",
      (wire) =>
        answer(
          wire,
          SAID,
          call(0, { id: "a", name: "f", args: "{}" }),
          call(1, { id: "a", name: "g", args: "{}" }),
          toolsDone,
        ),
      { said: HALF },
    ],
    [
      "a call whose id is a page long",
      (wire) => answer(wire, SAID, call(0, { id: "a".repeat(5_000), name: "f", args: "{}" }), toolsDone),
      { said: HALF },
    ],
    ["half a surrogate pair in text", (wire) => answer(wire, SAID, text("a\ud800b"), done), { said: HALF }],
    [
      "half a surrogate pair in reasoning",
      (wire) => answer(wire, SAID, reasoning("\udc00"), done),
      { said: HALF },
    ],
    [
      "half a surrogate pair in arguments",
      (wire) => answer(wire, SAID, call(0, { id: "a", name: "f", args: '{"t":"\ud800"}' }), toolsDone),
      { said: HALF },
    ],
    [
      "a page of HTML",
      () => statusReply(200, "<html>hi</html>", { "content-type": "text/html" }),
      { retryable: false },
    ],
    ["a JSON document", () => statusReply(200, { choices: [], content: [] }), { retryable: false }],
  ];

function cutOff(wire: Wire): Reply {
  const parts = wire.encode([SAID, done]);
  return partsReply(
    parts.map((part, k) => (typeof part === "string" && k === parts.length - 1 ? part.slice(0, -9) : part)),
  );
}

const STATUSES = [
  [400, "provider-rejected", false],
  [401, "provider-auth", false],
  [403, "provider-auth", false],
  [404, "provider-rejected", false],
  [408, "provider-timeout", true],
  [413, "provider-rejected", false],
  [422, "provider-rejected", false],
  [429, "provider-rate-limited", true],
  [500, "provider-unavailable", true],
  [502, "provider-unavailable", true],
  [503, "provider-unavailable", true],
  [529, "provider-unavailable", true],
] as const;

const STREAM_FAILURES = [
  ["overloaded", "provider-unavailable", true],
  ["rate-limited", "provider-rate-limited", true],
  ["invalid", "provider-rejected", false],
] as const;

/** Where a provider may echo the key that it was sent. */
const ECHOES: ReadonlyArray<readonly [string, (wire: Wire) => Reply]> = [
  ["the text of an error", () => statusReply(500, `key=${KEY}`)],
  ["an error of another shape", () => statusReply(500, { oops: { key: KEY } })],
  ["the type of an error", () => statusReply(500, { error: { type: KEY, code: KEY, message: 3 } })],
  ["an error, near its cut", (wire) => errorAnswer(wire, 400, `${"x".repeat(185)} ${KEY}`)],
  ["an error, in JSON escapes", () => statusReply(500, `{"error":{"message":"${escaped(KEY)}"}}`)],
  ["an error, as a URL and as base64", (wire) => errorAnswer(wire, 401, `?k=${KEY} ${btoa(`u:${KEY}`)}`)],
  ["a page of HTML", () => statusReply(502, `<html>${KEY}</html>`, { "content-type": "text/html" })],
  ["a header", (wire) => errorAnswer(wire, 500, "x", { [wire.requestIdHeader]: KEY, server: KEY })],
  ["a header that counts", (wire) => errorAnswer(wire, 429, "x", { "retry-after": KEY })],
  ["the reason of a status", () => () => new Response("", { status: 500, statusText: KEY })],
  ["a content type", () => statusReply(200, "x", { "content-type": `text/${KEY}` })],
  ["a redirect", () => statusReply(307, "", { location: `http://127.0.0.1:1/?key=${KEY}` })],
  ["an error event", (wire) => answer(wire, failure("overloaded", `no ${KEY}`))],
  ["a finish reason", (wire) => answer(wire, finishRaw(KEY))],
  ["a finish reason, near its cut", (wire) => answer(wire, finishRaw(`${"x".repeat(20)}${KEY}`))],
  ["a finish reason, in JSON escapes", (wire) => retyped(wire, `"${escaped(KEY)}"`, finishRaw("@"))],
  ["the same near its cut", (wire) => retyped(wire, `"${"x".repeat(20)}${escaped(KEY)}"`, finishRaw("@"))],
  ["two finish reasons", (wire) => answer(wire, done, finishRaw(`${"x".repeat(20)}${KEY}`))],
  ["malformed JSON", (wire) => answer(wire, data(`{"${KEY}`))],
  ["names and types", (wire) => answer(wire, data(JSON.stringify({ [KEY]: KEY, type: KEY, choices: KEY })))],
  ["text, and then an error", (wire) => answer(wire, text(`a ${KEY} b`), failure("invalid", KEY))],
  ["text in pieces", (wire) => unended(wire, ...[...`a ${KEY} b`].map(text))],
  ["reasoning in pieces", (wire) => unended(wire, ...[...`a ${KEY} b`].map((piece) => reasoning(piece)))],
  ["text, in JSON escapes", (wire) => retypedUnended(wire, `"${escaped(KEY)}"`, text("@"))],
  ["text beside nesting without an end", (wire) => unended(wire, SAID, data(nested(escaped(KEY))))],
  ["the id of a call", (wire) => retypedUnended(wire, `"${escaped(KEY)}"`, call(0, { id: "@", name: "f" }))],
  [
    "the name of a call",
    (wire) => retypedUnended(wire, `"${escaped(KEY)}"`, call(0, { id: "a", name: "@" })),
  ],
  [
    "a call",
    (wire) => unended(wire, call(0, { id: KEY, name: KEY, args: `{"${KEY}":` }), call(0, { args: "1}" })),
  ],
];

/** The pieces of a stream put together, each kind of its own. */
function streamed(events: readonly SessionEvent[]): string {
  const texts = { text: "", reasoning: "", args: "" };
  for (const event of events) {
    if (!isEvent(event, "assistant/chunk")) continue;
    const { chunk } = event.data;
    if (chunk.type === "text-delta") texts.text += chunk.text;
    if (chunk.type === "reasoning-delta") texts.reasoning += chunk.text;
    if (chunk.type === "tool-call-delta") texts.args += chunk.argumentsDelta;
  }
  return JSON.stringify(texts);
}

/** An event of either format with this text, and a member that no program can write out again. */
function nested(value: string): string {
  const openai = `"choices":[{"index":0,"delta":{"content":"${value}"}}]`;
  const anthropic = `"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${value}"}`;
  return `{${openai},${anthropic},"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
}

/** The text with each character as a JSON escape. */
function escaped(value: string): string {
  return [...value]
    .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

describe.each(EACH_WIRE)("a request that fails over %s", (_, wire) => {
  test.each(STATUSES)("status %p is %s", async (status, code, retryable) => {
    const reply = errorAnswer(wire, status, `no: ${KEY}`, { [wire.requestIdHeader]: "req-1" });
    const failed = await failureOf(wire, reply);
    expect(failed).toMatchObject({ code, retryable, status, requestId: "req-1" });
    expect(failed.message).toContain("no: [API key]");
  });

  test.each<[string, number | undefined]>([
    ["3", 3_000],
    ["0.5", 500],
    [new Date(Date.now() - 90_000).toUTCString(), 0],
    ["soon", undefined],
    ["-5", undefined],
    ["NaN", undefined],
    ["99999999999999999999", undefined],
  ])("Retry-After: %s is read with statuses that mean to wait", async (value, ms) => {
    for (const status of [429, 503, 529]) {
      const failed = await failureOf(wire, errorAnswer(wire, status, "slow down", { "retry-after": value }));
      expect(failed.retryAfterMs).toBe(ms);
    }
  });

  test("Retry-After may be a date to come", async () => {
    const date = new Date(Date.now() + 90_000).toUTCString();
    const { retryAfterMs = 0 } = await failureOf(wire, errorAnswer(wire, 429, "no", { "retry-after": date }));
    expect(retryAfterMs).toBeGreaterThan(60_000);
    expect(retryAfterMs).toBeLessThanOrEqual(90_000);
  });
});

describe.each(EACH_WIRE)("a Turn that fails over %s", (_, wire) => {
  test("a rate limit stands in the log with all that the provider said", async () => {
    const headers = { [wire.requestIdHeader]: "req-1", "retry-after": "3", "x-echo": KEY };
    const reply = () => errorAnswer(wire, 429, `slow down, ${KEY}`, headers);
    const expected = {
      code: "provider-rate-limited",
      retryable: true,
      status: 429,
      requestId: "req-1",
    } as const;
    expect((await expectFailedTurn(wire, { reply }, expected)).retryAfterMs).toBe(3_000);
  });

  test.each(STREAM_FAILURES)("an error event that says %s is %s", async (kind, code, retryable) => {
    const event = failure(kind, `no: ${KEY}`);
    const failed = await failureOf(wire, answer(wire, event));
    expect(failed).toMatchObject({ code, retryable });
    expect(failed.message).toContain("no: [API key]");
    const late = { code, retryable, said: HALF };
    await expectFailedTurn(wire, { reply: () => answer(wire, SAID, event) }, late);
  });

  test("a content filter is a rejection, also after some words", async () => {
    const reply = () => answer(wire, SAID, finish("filtered"));
    const expected = { code: "provider-rejected", retryable: false, said: HALF } as const;
    await expectFailedTurn(wire, { reply }, expected);
  });

  test.each(BAD)("%s", async (_, make, expected = {}) => {
    await expectFailedTurn(wire, { reply: () => make(wire) }, { ...bad, ...expected });
  });

  test("an event nested without an end is a failure like any other", async () => {
    const failed = await failureOf(wire, unended(wire, SAID, data(nested("\\u0041"))));
    expect(failed).toBeInstanceOf(ProviderError);
  });

  test("the key shows nowhere, wherever the provider echoes it", async () => {
    await using rig = await openWireRig(
      wire,
      ECHOES.map(([, make]) => make(wire)),
    );
    for (const [where] of ECHOES) {
      const from = rig.events.length;
      const { failure: failed } = await rig.run(where);
      if (!(failed instanceof ProviderError)) throw new Error(`no failure of the provider: ${where}`);
      const texts = [...rig.agent.session.log.texts(from), ...wordsOf(failed)];
      expectNoKey(...texts.map((said) => `${where}: ${said}`), streamed(rig.events.slice(from)));
    }
  });
});
