import { expect, test } from "bun:test";
import fc from "fast-check";
import { rangeOfTurns } from "../../src/cli/sessions/show/turn-range.ts";
import { UsageError } from "../../src/host/usage.ts";
import type { SessionEvent } from "../../src/session/events.ts";
import { rejectionOf, title } from "../contract/support.ts";
import { textDelta, toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";

/** A log of Turns with numbers that go up, and of other events before, in and between them. */
const log = fc
  .array(fc.record({ skipped: fc.nat(2), pieces: fc.nat(20), titles: fc.nat(9), isOpen: fc.boolean() }), {
    maxLength: 8,
  })
  .map((list) => {
    let turn = 0;
    const drafts = list.flatMap(({ skipped, pieces, titles, isOpen }, k) => {
      turn += 1 + skipped;
      const at = { turn, step: 1 };
      return [
        ...(k === 0 ? [title(0)] : []),
        turnStart(turn),
        userMessage("Hi"),
        ...Array.from({ length: pieces }, () => textDelta(at, "x")),
        ...(isOpen ? [] : [turnEnd(turn)]),
        ...Array.from({ length: titles }, (_, n) => title(n)),
      ];
    });
    return toEvents(drafts);
  });

function storeOf(events: readonly SessionEvent[]) {
  return {
    readFrom: async (_: string, from: number, { limit = events.length }: { readonly limit?: number } = {}) =>
      events.slice(from, from + limit),
  };
}

test("a Turn is found wherever it stands, as a reading of the whole log finds it; one that is not there is not", async () => {
  await fc.assert(
    fc.asyncProperty(log, fc.nat(12), fc.nat(3), async (events, first, more) => {
      const starts = events.flatMap(({ type, seq, data }) =>
        type === "turn/start" ? [{ seq, turn: Number(Reflect.get(Object(data), "turn")) }] : [],
      );
      const last = first + more;
      const range = rangeOfTurns(storeOf(events), "s", { first, last });
      const from = starts.find(({ turn }) => turn === first)?.seq;
      if (from === undefined || !starts.some(({ turn }) => turn === last)) {
        expect(await rejectionOf(range)).toBeInstanceOf(UsageError);
        return;
      }
      const next = starts.find(({ turn }) => turn > last)?.seq ?? events.length;
      expect(await range).toEqual({ from, to: next - 1 });
    }),
  );
});
