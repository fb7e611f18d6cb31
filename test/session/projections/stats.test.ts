import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type EventDraft, isEvent, type SessionEvent, type Usage } from "../../../src/session/events.ts";
import { Durations, rounded } from "../../../src/session/projections/durations.ts";
import { addTokens, SessionStats } from "../../../src/session/projections/stats.ts";
import { UsageProjection } from "../../../src/session/projections/usage.ts";
import { decodeRecord } from "../../../src/session/records.ts";
import { arbitraryEvents, batchSizes, toEvents } from "../../fixtures/arbitraries.ts";
import {
  assistantMessage,
  chunk,
  replacing,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
} from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";

const DAY_MS = 86_400_000;

function foldAll(stats: SessionStats, events: readonly SessionEvent[], sizes?: readonly number[]): void {
  for (const { text } of recordsOf(events, sizes)) stats.fold(decodeRecord(text, {}));
}

function statsOf(drafts: readonly EventDraft[]): SessionStats {
  const stats = new SessionStats();
  foldAll(stats, toEvents(drafts));
  stats.nextSession();
  return stats;
}

function counted<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

interface ToolFigures {
  readonly calls: number;
  readonly failures: number;
  readonly median: number;
  readonly max: number;
}

/** Each call with its time and its result, looked up in the whole list. */
function naiveTools(events: readonly SessionEvent[]): Map<string, ToolFigures> {
  const tools: Record<string, { calls: number; failures: number; times: number[] }> = Object.create(null);
  for (const [at, call] of events.entries()) {
    if (!isEvent(call, "tool/call")) continue;
    const tool = tools[call.data.name] ?? { calls: 0, failures: 0, times: [] };
    tools[call.data.name] = tool;
    tool.calls += 1;
    for (const later of events.slice(at + 1)) {
      if (isEvent(later, "turn/start")) break;
      if (isEvent(later, "tool/call") && later.data.callId === call.data.callId) break;
      if (!isEvent(later, "tool/result") || later.surfaceOp !== "append") continue;
      const [block] = later.data.message.content;
      if (block.toolCallId !== call.data.callId) continue;
      if (block.isError === true) tool.failures += 1;
      tool.times.push(Math.max(0, later.time - call.time));
      break;
    }
  }
  const shown = Object.entries(tools).map(([name, { calls, failures, times }]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const median = rounded(sorted[Math.ceil(sorted.length / 2) - 1] ?? 0);
    return [name, { calls, failures, median, max: sorted.at(-1) ?? 0 }] as const;
  });
  return new Map(shown);
}

const AT = { turn: 1, step: 1 };

test("counts are those of a count that looks at everything, however the log is cut into records", () => {
  fc.assert(
    fc.property(
      fc.array(arbitraryEvents(), { minLength: 1, maxLength: 2 }),
      batchSizes(),
      (sessions, sizes) => {
        const stats = new SessionStats();
        for (const events of sessions) {
          foldAll(stats, events, sizes);
          stats.nextSession();
        }
        const all = sessions.flat();
        const ends = all.flatMap((event) => (isEvent(event, "turn/end") ? [event.data.reason.kind] : []));
        expect(stats.events).toBe(all.length);
        expect(new Map([...stats.types].map(([type, { events }]) => [type, events]))).toEqual(
          counted(all.map(({ type }) => type)),
        );
        const texts = sessions.flatMap((events) => recordsOf(events, sizes).map(({ text }) => text));
        expect(stats.bytes).toBe(Buffer.byteLength(texts.join("")));
        expect([...stats.types.values()].reduce((sum, { bytes }) => sum + bytes, 0)).toBe(stats.bytes);
        expect(stats.turns).toBe(all.filter(({ type }) => type === "turn/start").length);
        expect(stats.steps).toBe(all.filter(({ type }) => type === "step/start").length);
        expect(stats.retries).toBe(all.filter(({ type }) => type === "llm/retry").length);
        expect(stats.turnEnds).toEqual(counted(ends));
        const tools = [...stats.tools].map(
          ([
            name,
            {
              calls,
              failures,
              durations: { median, max },
            },
          ]) => {
            return [name, { calls, failures, median, max }] as const;
          },
        );
        // Both sessions have Turns, so that no call of the first is answered in the second.
        expect(new Map(tools)).toEqual(naiveTools(all));
        let tokens = new UsageProjection().total;
        for (const events of sessions) {
          const usage = new UsageProjection();
          for (const event of [...events, ...toEvents([turnEnd(0)])]) usage.fold(event);
          tokens = addTokens(tokens, usage.total);
        }
        expect(
          stats.uses.reduce((sum, use) => addTokens(sum, use.tokens), new UsageProjection().total),
        ).toEqual(tokens);
      },
    ),
    { numRuns: 60 },
  );
});

describe("tokens", () => {
  const usage = (inputTokens: number): Usage => ({ inputTokens, outputTokens: 1 });
  const header = (model: string): EventDraft => ({
    type: "request/header",
    data: { header: { config: { provider: "p", model } }, reason: "initial" },
  });

  test("belong to the model that answered, and to the day in UTC on which it did", () => {
    const at = (day: number, draft: EventDraft): EventDraft => ({ ...draft, time: day * DAY_MS });
    const { uses } = statsOf([
      at(1, turnStart(1)),
      at(1, header("first")),
      at(1, stepStart(AT)),
      at(2, assistantMessage(AT, [textBlock("a")], { usage: usage(10) })),
      at(3, stepEnd(AT)),
      at(3, stepStart({ turn: 1, step: 2 })),
      // No message came of this one: it is the requested model's.
      at(3, header("second")),
      at(3, chunk({ turn: 1, step: 2 }, { type: "usage", usage: usage(5) })),
      at(4, turnEnd(1)),
    ]);
    const shown = uses.map(({ provider, model, day, steps, tokens }) => {
      return [`${provider}/${model}`, day, steps, tokens.inputTokens];
    });
    expect(shown).toEqual([
      ["demo/demo-1", 2, 1, 10],
      ["p/second", 3, 1, 5],
    ]);
  });

  test("of a session that breaks off are counted, and do not reach into the next one", () => {
    const stats = new SessionStats();
    const events = toEvents([turnStart(1), stepStart(AT), chunk(AT, { type: "usage", usage: usage(7) })]);
    for (const _ of [1, 2]) {
      foldAll(stats, events);
      stats.nextSession();
    }
    expect(stats.uses.map(({ steps, tokens }) => [steps, tokens.inputTokens])).toEqual([[2, 14]]);
  });
});

test("the model's time ends with its message; a result that compaction rewrote is none of a call", () => {
  const time = (ms: number, draft: EventDraft): EventDraft => ({ ...draft, time: ms });
  const stats = statsOf([
    time(0, turnStart(1)),
    time(100, stepStart(AT)),
    time(350, assistantMessage(AT, [textBlock("a")])),
    time(400, toolCall(AT, "c")),
    time(460, toolResult(AT, "c", "x", { error: { name: "E", code: "X" } })),
    time(500, stepEnd(AT)),
    time(900, replacing(toolResult(AT, "c", "y"), 4, 4, [4])),
  ]);
  expect(stats.modelTime).toBe(250);
  const tool = stats.tools.get("read_file");
  expect([tool?.calls, tool?.failures, tool?.durations.count, tool?.durations.max]).toEqual([1, 1, 1, 60]);
});

test("a median is exact to three digits, and memory for it is bounded", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000_000), { minLength: 1, maxLength: 60 }), (times) => {
      const durations = new Durations();
      for (const time of times) durations.add(time);
      const sorted = times.toSorted((a, b) => a - b);
      const median = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
      expect(durations.median).toBe(rounded(median));
      expect(median - durations.median).toBeLessThanOrEqual(median / 100);
      expect(durations.max).toBe(sorted.at(-1) ?? 0);
    }),
  );
});
