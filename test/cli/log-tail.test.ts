import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  LogCutError,
  LogTail,
  type TailItem,
  type TailSource,
} from "../../src/cli/sessions/tail/log-tail.ts";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { LiveTranscript } from "../../src/session/projections/index.ts";
import { rejectionOf } from "../contract/support.ts";
import { arbitraryEvents, batchSizes } from "../fixtures/arbitraries.ts";
import {
  assistantMessage,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toEvents,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";

const FORMS = ["entries", "events"] as const;

/** A session that grows, of which the answers tell which seqs were read. */
class GrowingLog implements TailSource {
  events: SessionEvent[] = [];
  read = 0;
  readonly store = {
    readFrom: async (_: string, from: number, options?: { readonly limit?: number }) => {
      const limit = options?.limit ?? this.events.length;
      const answer = this.events.slice(from, from + limit);
      this.read += answer.length;
      return answer;
    },
    stream: () => Promise.reject(new Error("The log is not damaged")),
  };
}

async function all(items: AsyncIterable<readonly TailItem[]>): Promise<TailItem[]> {
  return (await Array.fromAsync(items)).flat();
}

/** All that a form shows of a log that is read once, from its beginning. */
function shownOf(events: readonly SessionEvent[], form: (typeof FORMS)[number]): TailItem[] {
  const transcript = new LiveTranscript();
  if (form === "events") return events.map((event) => ({ event }));
  return events.flatMap((event) => {
    const entry = transcript.fold(event);
    return entry === undefined ? [] : [{ event, entry }];
  });
}

const AT = { turn: 2, step: 1 };

function longTurns(deltas: number): SessionEvent[] {
  const pieces = (count: number) => Array.from({ length: count }, (_, k) => textDelta(AT, `${k} `));
  const drafts: readonly EventDraft[] = [
    ...Array.from({ length: 40 }, (_, k) => [turnStart(k), userMessage(`${k}`), turnEnd(k)]).flat(),
    turnStart(2),
    userMessage("Count"),
    stepStart(AT),
    ...pieces(deltas),
    // Broken off without a message.
    stepEnd(AT),
    turnEnd(2, { kind: "interrupted" }),
    turnStart(3),
    userMessage("Again"),
    stepStart(AT),
    ...pieces(deltas),
    assistantMessage(AT, [textBlock("Done")]),
  ];
  return toEvents(drafts);
}

describe.each(FORMS)("the last %s of a log", (form) => {
  const expectLast = async (events: readonly SessionEvent[], count: number) => {
    const source = new GrowingLog();
    source.events = [...events];
    const tail = new LogTail(source, "s", form);
    expect(await all(tail.last(count))).toEqual(count === 0 ? [] : shownOf(events, form).slice(-count));
    return { source, tail };
  };

  test("are those of whoever reads all of it, and so is what is added then", async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryEvents(),
        fc.nat(),
        fc.nat(30),
        batchSizes(),
        async (events, cut, count, sizes) => {
          const known = cut % (events.length + 1);
          const { source, tail } = await expectLast(events.slice(0, known), count);
          const added: TailItem[] = [];
          for (let at = known, k = 0; at < events.length; k += 1) {
            at += sizes[k % sizes.length] ?? 1;
            source.events = events.slice(0, at);
            added.push(...(await all(tail.added())));
          }
          const behind = ({ event }: TailItem) => event.seq >= known;
          expect(added).toEqual(shownOf(events, form).filter(behind));
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([1, 2, 3, 5, 30, 43, 1_000, 6_000, 100_000])(
    "are as many as are asked for: %d",
    async (count) => {
      await expectLast(longTurns(3_000), count);
    },
  );

  test("are found without reading what lies far before them", async () => {
    const before = Array.from({ length: 20_000 }, (_, k) => [turnStart(k), userMessage(`${k}`), turnEnd(k)]);
    const { source } = await expectLast(toEvents(before.flat()), 10);
    expect(source.read).toBeLessThan(1_000);
  });

  test("say so when another log lies there than was shown, also a longer one", async () => {
    const { source, tail } = await expectLast(longTurns(3), 5);
    const other = longTurns(4);
    source.events = [...other, ...other];
    expect(await rejectionOf(all(tail.added()))).toBeInstanceOf(LogCutError);
    source.events = longTurns(3).slice(0, -1);
    expect(await rejectionOf(all(tail.added()))).toBeInstanceOf(LogCutError);
    // The same events, read again.
    source.events = longTurns(3).map((event) => structuredClone(event));
    expect(await all(tail.added())).toEqual([]);
  });
});

describe("a transcript of the last entries of a log", () => {
  test("is all of it from the first of them on, behind what explains them", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryEvents(), fc.nat(30), async (events, count) => {
        const source = new GrowingLog();
        source.events = [...events];
        const items = await all(new LogTail(source, "s", "transcript").last(count));
        const asked = items.filter(({ isBefore }) => isBefore !== true);
        const entries = shownOf(events, "entries").slice(count === 0 ? events.length : -count);
        expect(asked.filter(({ entry }) => entry !== undefined)).toEqual(entries);
        expect(asked.map(({ event }) => event)).toEqual(
          entries.length === 0 ? [] : events.slice(entries[0]?.event.seq),
        );
        const seqs = items.map(({ event }) => event.seq);
        expect(seqs).toEqual(seqs.map((_, k) => events.length - seqs.length + k));
      }),
      { numRuns: 60 },
    );
  });

  test("begins with its Turn, unless that is far away", async () => {
    const first = async (inputs: number) => {
      const source = new GrowingLog();
      const said = Array.from({ length: inputs }, () => userMessage("x"));
      source.events = toEvents([
        turnStart(1),
        ...said,
        stepStart(AT),
        assistantMessage(AT, [textBlock("Done")]),
      ]);
      const [item] = await all(new LogTail(source, "s", "transcript").last(1));
      return { type: item?.event.type, read: source.read };
    };
    expect((await first(100)).type).toBe("turn/start");
    const { type, read } = await first(20_000);
    expect(type).toBe("step/start");
    expect(read).toBeLessThan(4_000);
  });
});
