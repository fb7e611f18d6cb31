import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { allChunks, chunkCount } from "./expected-answer.ts";
import { SeenEvents } from "./seen-events.ts";
import { firstOf, INVOCATIONS, LAST_ITEM, SmallLife } from "./small-life.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

let small: SmallLife;
/** The log of a Turn with two tools, and of a second one that was cut off after some deltas. */
let log: readonly string[];

beforeAll(async () => {
  small = await SmallLife.create("none");
  log = small.life.seen.texts;
});
afterAll(() => small[Symbol.asyncDispose]());

/** Gives the events the seqs of their places. */
function renumbered(texts: readonly string[]): string[] {
  return texts.map((text, seq) => text.replace(/"seq":\d+/, `"seq":${seq}`));
}

function at(type: string): number {
  return firstOf(type, log);
}

/** The log up to and with the first event of a type. */
function upTo(type: string): string[] {
  return log.slice(0, at(type) + 1);
}

function changed(type: string, from: string | RegExp, to: string): string[] {
  const texts = [...log];
  const seq = texts.findIndex((text, k) => k >= at(type) && text.replace(from, to) !== text);
  texts[seq] = texts[seq]?.replace(from, to) ?? "";
  return texts;
}

function closersAfter(texts: readonly string[]): string[] {
  return small
    .replay(texts)
    .closers()
    .map((closer) => JSON.stringify(closer));
}

describe("what the log says", () => {
  test("is taken as it is, with all that recovery adds to it", () => {
    const kinds = [
      "turn/end",
      "user/message",
      "request/header",
      "llm/retry",
      "assistant/chunk",
      "tool/call",
      "tool/result",
    ];
    expect(kinds.filter((type) => at(type) < 0)).toEqual([]);
    expect(() => small.replay(renumbered(withChunks(0)))).not.toThrow();
    for (const texts of [log, upTo("tool/call"), upTo("assistant/message"), upTo("user/message")]) {
      const closed = small.replay([...texts, ...closersAfter(texts)], true);
      expect(closed.closers()).toEqual([]);
    }
  });

  test.each<readonly [string, () => readonly string[], RegExp]>([
    ["an input that nobody sent", () => changed("user/message", "Good", "Bad"), /nobody sent it/],
    [
      "a Turn with the wrong number",
      () => changed("turn/start", '"turn":1', '"turn":2'),
      /it follows Turn 0/,
    ],
    [
      "an envelope for another model",
      () => changed("request/header", "test-model", "x"),
      /the model is test-model/,
    ],
    [
      "a delta with another text",
      () => changed("assistant/chunk", /Delta":"(.)/, 'Delta":"x$1'),
      /the model sent/,
    ],
    [
      "an answer with other usage",
      () => changed("assistant/message", /Tokens":/, 'Tokens":1'),
      /its usage is not/,
    ],
    [
      "an answer that cites too little",
      () => changed("assistant/message", /Seqs":\[\d+,/, 'Seqs":['),
      /does not cite/,
    ],
    ["a call with other arguments", () => changed("tool/call", "notes", "other"), /called something else/],
    ["a result with another text", () => changed("tool/result", "lines.txt", "x.txt"), /the tool gives/],
    [
      "a message id twice",
      () => changed("tool/result", /"id":"[^"]+"/, idOf("user/message")),
      /no id of its own/,
    ],
    [
      "a Turn that ends in another way",
      () => changed("turn/end", "completed", "max-tokens"),
      /in another way/,
    ],
    [
      "a Turn that failed for no reason",
      () => changed("turn/end", /"reason":\{.*?\}/, FAILED),
      /nothing failed/,
    ],
    [
      "a Turn that nobody stopped",
      () => changed("turn/end", /"reason":\{.*?\}/, ABORTED),
      /nobody stopped it/,
    ],
    ["an unknown type", () => changed("step/end", "step/end", "session/title"), /nobody writes such a type/],
    ["a call twice", () => [...upTo("tool/call"), log[at("tool/call")] ?? ""], /the call was made before/],
    ["a result twice", () => [...upTo("tool/result"), log[at("tool/result")] ?? ""], /no such call waits/],
    [
      "a result of another call",
      () => changed("tool/result", /Seqs":\[\d+\]/, 'Seqs":[1]'),
      /does not cite its call/,
    ],
    ["an input twice", () => [...upTo("turn/end"), turnStart(2), log[1] ?? ""], /stands there twice/],
    ["two Turns at once", () => [...upTo("user/message"), turnStart(2)], /the Turn before it is open/],
    [
      "a retry that counts wrong",
      () => changed("llm/retry", '"attempt":1', '"attempt":2'),
      /follows attempt 0/,
    ],
    [
      "a retry for another reason",
      () => changed("llm/retry", '"status":503', '"status":500'),
      /answered 503/,
    ],
    [
      "a retry after another wait",
      () => changed("llm/retry", '"delayMs":1', '"delayMs":7'),
      /asked for 1 ms/,
    ],
    ["a retry of what did not fail", () => [...upTo("llm/retry"), retry(2)], /the model did not fail/],
    ["a retry within an answer", () => [...upTo("assistant/chunk"), retry(2)], /the answer has begun/],
    ["an answer without the retry before it", () => log.toSpliced(at("llm/retry"), 1), /that is not noted/],
    ["a delta that was not sent", () => withChunks(1), /the model did not send it/],
  ])("may not be %s", (_, make, reason) => {
    const texts = renumbered(make());
    expect(() => small.replay(texts)).toThrow(reason);
  });

  test("may not have an event dropped, doubled or moved, wherever it stands", () => {
    for (let seq = 0; seq < log.length - 1; seq += 1) {
      const dropped = log.filter((_, k) => k !== seq);
      const doubled = log.toSpliced(seq, 0, log[seq] ?? "");
      const moved = log.with(seq, log[seq + 1] ?? "").with(seq + 1, log[seq] ?? "");
      for (const texts of [dropped, doubled, moved])
        expect(() => small.replay(texts)).toThrow(/must not stand there/);
    }
  });

  test.each<readonly [string, (closers: string[]) => readonly string[], RegExp]>([
    ["twice", (closers) => [...closers, ...closers], /no Turn is open/],
    ["without the results of its calls", (closers) => closers.slice(2), /a call has no result/],
    ["without the end of its Step", (closers) => closers.toSpliced(2, 1), /not the end of this Turn/],
    ["with results in another order", ([a = "", b = "", ...rest]) => [b, a, ...rest], /no such call waits/],
    ["with a started call as not started", (closers) => closers.map(asNotStarted), /the tool gives/],
    [
      "at another time",
      (closers) => closers.map((text) => text.replace(/"time":\d+/, '"time":9')),
      /must not stand/,
    ],
  ])("may not be closed %s", (_, make, reason) => {
    const texts = upTo("tool/call");
    const closers = closersAfter(texts);
    expect(closers).toHaveLength(4);
    expect(() => small.replay(renumbered([...texts, ...make(closers)]), true)).toThrow(reason);
  });

  test("is closed by a Host that starts, and never while one runs", () => {
    expect(() => small.replay([...log, ...closersAfter(log)])).toThrow(/no Host has opened the store/);
  });
});

describe("what was seen once", () => {
  test("stays, event for event and in its order", () => {
    for (let seq = 0; seq < log.length; seq += 1) {
      const lost = log.filter((_, k) => k !== seq);
      const other = log.with(seq, log[seq]?.replace('"time":', '"time":1') ?? "");
      for (const texts of [lost, other, log.slice(0, seq)]) {
        for (const take of [takeAll, takeList, takePart]) {
          // A part that ends before the change says nothing.
          if (take === takePart && texts.every((text, k) => text === log[k])) continue;
          expect(() => take(texts)).toThrow(`the acknowledged event ${seq} is`);
        }
      }
    }
    expect(takeList([...log, turnStart(9)])).toEqual([turnStart(9)]);
    expect(takePart(log.slice(0, 3))).toEqual([]);
    expect(() => takePart([...log.slice(0, 3), '{"type":"x'])).toThrow("the acknowledged event 3 begins");
  });
});

const FAILED = '"reason":{"kind":"error","error":{"message":"x","code":"provider-timeout"}}';
const ABORTED = '"reason":{"kind":"aborted","reason":{"kind":"user"}}';

function idOf(type: string): string {
  return /"id":"[^"]+"/.exec(log[at(type)] ?? "")?.[0] ?? "";
}

/** The retry of the log, as that of another attempt. */
function retry(attempt: number): string {
  return (log[at("llm/retry")] ?? "").replace(/"attempt":\d+/, `"attempt":${attempt}`);
}

function turnStart(turn: number): string {
  return JSON.stringify({ type: "turn/start", seq: log.length, time: 1, data: { turn } });
}

/** The second Turn with all chunks that were sent, and `more` beyond them. */
function withChunks(more: number): string[] {
  const answer = INVOCATIONS[1].answers[0];
  if (answer === undefined) throw new Error("there is no such answer");
  const chunks = allChunks(answer).slice(0, chunkCount(answer, LAST_ITEM + 1) + more);
  const opening = log.slice(0, at("turn/end") + 4);
  const event = { type: "assistant/chunk", seq: 0, time: 1 };
  return [
    ...opening,
    ...chunks.map((chunk) => JSON.stringify({ ...event, data: { turn: 2, step: 1, chunk } })),
  ];
}

function asNotStarted(text: string): string {
  return text.replace(
    '{"name":"ToolOutcomeUnknownError","code":"TOOL_OUTCOME_UNKNOWN"}',
    '{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}',
  );
}

function seen(): SeenEvents {
  const events = new SeenEvents();
  events.takeAll(log);
  return events;
}

function takeAll(texts: readonly string[]): readonly string[] {
  return seen().takeAll(texts);
}

function takeList(texts: readonly string[]): readonly string[] {
  return seen().takeList(`${texts.join(",")}],"transcript":[]}`, true).added;
}

/** As a Host that was killed leaves it. */
function takePart(texts: readonly string[]): readonly string[] {
  return seen().takeList(texts.join(","), false).added;
}
