import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  LogCutError,
  LogTail,
  type TailItem,
  type TailSource,
} from "../../src/cli/sessions/tail/log-tail.ts";
import type { EventDraft, SessionEvent } from "../../src/session/events.ts";
import { decodeHeader } from "../../src/session/header.ts";
import { LiveTranscript } from "../../src/session/projections/index.ts";
import { type DecodedRecord, decodeRecord } from "../../src/session/records.ts";
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
import { recordsOf } from "../fixtures/logs.ts";
import { headerText } from "../fixtures/stored-sessions.ts";

const FORMS = ["entries", "events"] as const;

/** A session that grows, which tells how many events were read. */
class GrowingLog implements TailSource {
  read = 0;
  #events: readonly SessionEvent[] = [];
  #records: readonly DecodedRecord[] = [];
  readonly #sizes: readonly number[];

  /** @param sizes of the batches that the events were committed in, used in rotation */
  constructor(sizes: readonly number[] = [5]) {
    this.#sizes = sizes;
  }

  set events(events: readonly SessionEvent[]) {
    this.#events = events;
    this.#records = recordsOf(events, this.#sizes).map(({ text }) => decodeRecord(text, {}));
  }

  readonly store: TailSource["store"] = {
    readFrom: async (_, from, options) => {
      const limit = options?.limit ?? this.#events.length;
      const answer = this.#events.slice(from, from + limit);
      this.read += answer.length;
      return answer;
    },
    stream: async (_, { fromSeq = 0 } = {}) => ({
      header: decodeHeader(headerText("s"), {}),
      headerText: headerText("s"),
      revision: "",
      pages: this.#pages(fromSeq),
      torn: () => false,
    }),
  };

  async *#pages(from: number) {
    const records = this.#records.filter(({ record }) => record.seq + record.count > from);
    for (let at = 0; at < records.length; at += 7) {
      const page = records.slice(at, at + 7);
      this.read += page.reduce((sum, { record }) => sum + record.count, 0);
      yield page;
    }
  }
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
  const expectLast = async (events: readonly SessionEvent[], count: number, sizes?: readonly number[]) => {
    const source = new GrowingLog(sizes);
    source.events = events;
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
          const { source, tail } = await expectLast(events.slice(0, known), count, sizes);
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
    const before = Array.from({ length: 4_000 }, (_, k) => [turnStart(k), userMessage(`${k}`), turnEnd(k)]);
    const { source } = await expectLast(toEvents(before.flat()), 10);
    expect(source.read).toBeLessThan(1_000);
  });

  test("are found by reading a long answer a few times, and not at all where its message is the last one", async () => {
    const said = longTurns(10_000);
    const [ended, open] = await Promise.all([expectLast(said, 1), expectLast(said.slice(0, -1), 1)]);
    expect(ended.source.read).toBeLessThan(500);
    expect(open.source.read).toBeLessThan(form === "events" ? 500 : 6 * 10_000);
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
  test("is all of it but deltas from the first of them on, behind what explains them", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryEvents(), fc.nat(30), batchSizes(), async (events, count, sizes) => {
        const source = new GrowingLog(sizes);
        source.events = events;
        const items = await all(new LogTail(source, "s", "transcript").last(count));
        const asked = items.filter(({ isBefore }) => isBefore !== true);
        const entries = shownOf(events, "entries").slice(count === 0 ? events.length : -count);
        expect(asked.filter(({ entry }) => entry !== undefined)).toEqual(entries);
        const isTold = (event: SessionEvent) =>
          recordsOf([event]).some(({ text }) => decodeRecord(text, {}).event !== undefined);
        expect(asked.map(({ event }) => event)).toEqual(
          entries.length === 0 ? [] : events.slice(entries[0]?.event.seq).filter(isTold),
        );
        const told = events.filter(isTold).map(({ seq }) => seq);
        expect(items.map(({ event }) => event.seq)).toEqual(told.slice(told.length - items.length));
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
    const { type, read } = await first(6_000);
    expect(type).toBe("assistant/message");
    expect(read).toBeLessThan(2_000);
  });
});
