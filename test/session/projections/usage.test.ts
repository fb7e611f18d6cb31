import { describe, expect, test } from "bun:test";
import type { EventDraft, Usage } from "../../../src/session/events.ts";
import { UsageProjection } from "../../../src/session/projections/usage.ts";
import { toEvents } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  chunk,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  turnEnd,
  turnStart,
} from "../../fixtures/event-drafts.ts";

const AT = { turn: 1, step: 1 };

function usage(inputTokens: number, rest: Partial<Usage> = {}): Usage {
  return { inputTokens, outputTokens: 1, ...rest };
}

function fold(drafts: readonly EventDraft[]): UsageProjection {
  const projection = new UsageProjection();
  for (const event of toEvents(drafts)) projection.fold(event);
  return projection;
}

function reported(inputTokens: number): EventDraft {
  return chunk(AT, { type: "usage", usage: usage(inputTokens) });
}

function message(inputTokens?: number): EventDraft {
  return assistantMessage(
    AT,
    [textBlock("a")],
    inputTokens === undefined ? {} : { usage: usage(inputTokens) },
  );
}

/** Input tokens of one Step made of these events. */
function stepTokens(...drafts: readonly EventDraft[]): number {
  return fold([turnStart(1), stepStart(AT), ...drafts, stepEnd(AT), turnEnd(1)]).total.inputTokens;
}

describe("a Step counts once", () => {
  test("by its message, whatever its chunks reported before or after", () => {
    expect(stepTokens(message(10))).toBe(10);
    expect(stepTokens(reported(10), message(10))).toBe(10);
    expect(stepTokens(reported(7), message(10))).toBe(10);
    expect(stepTokens(message(10), reported(10))).toBe(10);
  });

  test("by its last usage chunk where the message has no usage, or there is no message", () => {
    expect(stepTokens(reported(3), reported(8), message())).toBe(8);
    expect(stepTokens(reported(3), reported(8))).toBe(8);
    expect(stepTokens(message(), reported(8))).toBe(8);
  });

  test("also when the log breaks off, once the next Turn starts", () => {
    expect(fold([turnStart(1), stepStart(AT), reported(5), turnStart(2)]).total.inputTokens).toBe(5);
  });

  test("and not again when compaction rewrites its message", () => {
    const rewritten = replacing(message(10), 2, 2, [2]);
    expect(
      fold([turnStart(1), stepStart(AT), message(10), stepEnd(AT), turnEnd(1), rewritten]).total.inputTokens,
    ).toBe(10);
  });
});

describe("usage", () => {
  const second = { turn: 2, step: 1 };
  const full = usage(20, { outputTokens: 6, cacheReadTokens: 7, cacheWriteTokens: 8, reasoningTokens: 9 });
  const drafts = [
    turnStart(1),
    stepStart(AT),
    message(1),
    stepEnd(AT),
    stepStart({ turn: 1, step: 2 }),
    message(2),
    turnEnd(1),
    turnStart(2),
    stepStart(second),
    assistantMessage(second, [], { usage: full }),
    turnEnd(2),
  ];

  test("is summed for the session and for each Turn; what was not reported is 0", () => {
    const projection = fold(drafts);
    expect(projection.ofTurn(1)).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    });
    expect(projection.ofTurn(2)).toEqual({
      inputTokens: 20,
      outputTokens: 6,
      cacheReadTokens: 7,
      cacheWriteTokens: 8,
      reasoningTokens: 9,
    });
    expect(projection.ofTurn(3).inputTokens).toBe(0);
    expect(projection.total).toEqual({
      inputTokens: 23,
      outputTokens: 8,
      cacheReadTokens: 7,
      cacheWriteTokens: 8,
      reasoningTokens: 9,
    });
  });

  test("can be cloned, and the copy goes its own way", () => {
    const projection = fold(drafts);
    const copy = projection.clone();
    for (const event of toEvents([turnStart(3), stepStart({ turn: 3, step: 1 }), message(100)], 0, 11))
      copy.fold(event);
    expect([projection.total.inputTokens, copy.total.inputTokens]).toEqual([23, 123]);
  });

  test("includes the cached tokens, also of a log that counts them apart", () => {
    const apart = usage(161, { cacheReadTokens: 8_064, cacheWriteTokens: 10 });
    const { total } = fold([
      turnStart(1),
      stepStart(AT),
      assistantMessage(AT, [], { usage: apart }),
      turnEnd(1),
    ]);
    expect(total).toMatchObject({ inputTokens: 8_235, cacheReadTokens: 8_064, cacheWriteTokens: 10 });
  });
});
