import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isShown, ShownEvents } from "../../src/cli/sessions/exchange/formats/shown.ts";
import { KnownSecrets } from "../../src/cli/sessions/exchange/redact/known-secrets.ts";
import { RedactedRecords } from "../../src/cli/sessions/exchange/redact/redacted-records.ts";
import { MASK, Redactor } from "../../src/cli/sessions/exchange/redact/redactor.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { recordEvents, type SessionRecord } from "../../src/session/records.ts";
import { batchSizes } from "../fixtures/arbitraries.ts";
import {
  callDelta,
  reasoningDelta,
  stepEnd,
  textDelta,
  toEvents,
  turnStart,
} from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

// Put together here, so that no scanner takes this file for a leak.
const key = (start: string, length = 40) => start + "aB3dE5".repeat(20).slice(0, length);

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

  test("is hidden where other events come between its pieces, and where not all of it is held", () => {
    const secrets = Array.from({ length: 40 }, (_, k) => key(`sk-${k}`, 30 + k));
    const pem = `-----BEGIN ${"PRIVATE KEY"}-----\n${`${key("", 64)}\n`.repeat(60)}-----END ${"PRIVATE KEY"}-----`;
    const text = `${secrets.join(", and then ")} ${pem} the end`;
    const drafts: EventDraft[] = [turnStart(1)];
    for (let at = 0; at < text.length; at += 7) {
      drafts.push(textDelta(AT, text.slice(at, at + 7)));
      if (at % 5 === 0) drafts.push({ type: "session/title", data: { title: `At ${secrets[0]}` } });
    }
    const redactor = new Redactor([]);
    const redacted = new RedactedRecords(redactor, 8 * 1024);
    const events = toEvents(drafts);
    const shown = [...recordsOf(events).flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
    expect(shown.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq));
    const read = shown.flatMap((record) => recordEvents(record));
    expect(joined(read, "text")).toBe(`${secrets.map(() => MASK).join(", and then ")} ${MASK} the end`);
    const titles = drafts.filter(({ type }) => type === "session/title").length;
    expect(redactor.masked).toBe(secrets.length + 1 + titles);
  });
});

describe("a secret of an answer that was cut off", () => {
  test("is hidden and counted as it is shown, however it was cut and packed", () => {
    const secret = key("sk-", 30);
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 9 }),
        fc.boolean(),
        (cuts, sizes, isEnded) => {
          const cut = pieces(`Use ${secret} or ${secret}!`, cuts);
          const events = toEvents([
            turnStart(1),
            ...cut.flatMap((piece) => [textDelta(AT, piece), reasoningDelta(AT, "hm ", 1)]),
            ...cut.map((piece) => textDelta(AT, piece, 2)),
            // A pattern looks at each text by itself.
            textDelta(AT, "ACME", 3),
            ...(isEnded ? [stepEnd(AT)] : []),
          ]);
          const redactor = new Redactor(["^ACME$"]);
          const shown = new ShownEvents((text) => redactor.text(text));
          const ended = recordsOf(events, sizes.length === 0 ? undefined : [...sizes, events.length]).flatMap(
            (record) => (isShown(record) ? shown.take(record) : (shown.pass(record) ?? [])),
          );
          const said = `Use ${MASK} or ${MASK}!`;
          expect(isEnded ? ended : shown.rest()).toMatchObject([
            { how: isEnded ? "cut off" : "so far", entry: { text: `${said}\n${said}\n${MASK}` } },
          ]);
          expect(redactor.masked).toBe(5);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("is found where the attempt before it broke off in a word", () => {
    const secret = key("sk-", 30);
    const retry: EventDraft = { type: "llm/retry", data: { ...AT, attempt: 1 } };
    const redacted = new RedactedRecords(new Redactor([]));
    const records = recordsOf(toEvents([textDelta(AT, "It is"), retry, textDelta(AT, secret)]));
    const shown = [...records.flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
    expect(joined(shown.flatMap(recordEvents), "text")).toBe(`It is${MASK}`);
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

test("what deltas hold is masked alike, whether they are packed, single, or written in another way", () => {
  const word = fc.constantFrom(key("sk-", 30), "ACME-7", 'a "b"\n', "plain words, ", "\\", "🥛", "pass");
  const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(""));
  const cuts = fc.array(fc.nat(), { maxLength: 9 });
  const stream = fc.record({ text, cuts, id: fc.constantFrom("c1", "ACME-1", key("sk-", 20)) });
  fc.assert(
    fc.property(fc.array(stream, { maxLength: 4 }), batchSizes(), fc.boolean(), (streams, sizes, isKnown) => {
      const events = toEvents([
        ...streams.flatMap(({ text: said, cuts: at, id }, index) =>
          pieces(said, at).flatMap((piece) => [
            textDelta(AT, piece, 2 * index + 3),
            callDelta(AT, id, piece, { index: 2 * index + 4, name: index % 2 === 0 ? "write" : "ACME-9" }),
          ]),
        ),
        stepEnd(AT),
      ]);
      const shownOf = (records: readonly SessionRecord[]) => {
        const redactor = new Redactor(["ACME-\\d"]);
        const pass = (reader: Redactor) => {
          const redacted = new RedactedRecords(reader);
          return [...records.flatMap((record) => [...redacted.take(record)]), ...redacted.end()];
        };
        if (isKnown) {
          const secrets = new KnownSecrets();
          pass(redactor.learning(secrets));
          redactor.know(secrets);
        }
        const shown = pass(redactor).map(({ seq, text: made }) => [seq, JSON.parse(made)]);
        return { shown, masked: redactor.masked };
      };
      const single = events.map((event) => recordsOf([event])[0]).filter((record) => record !== undefined);
      // A space, and no text is in the form that is looked for.
      const other = single.map((record) => ({ ...record, text: record.text.replace("{", "{ ") }));
      const expected = shownOf(other);
      expect(shownOf(single)).toEqual(expected);
      expect(shownOf(recordsOf(events, sizes))).toEqual(expected);
    }),
    { numRuns: 80 },
  );
});
