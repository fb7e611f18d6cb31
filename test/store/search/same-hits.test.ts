import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import type { SessionEvent } from "../../../src/session/events.ts";
import { joinText } from "../../../src/session/projections/transcript.ts";
import { type Matcher, patternMatcher, textMatcher } from "../../../src/session/search/matcher.ts";
import type { Said } from "../../../src/session/search/said.ts";
import { openSearch } from "../../../src/store/search/open-search.ts";
import { search } from "../../../src/store/search/search.ts";
import { arbitraryEvents, batchSizes } from "../../fixtures/arbitraries.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";
import { plant, recordsOfDrafts, withStore } from "../../fixtures/stored-sessions.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";
import { EAGER, find, hitLine, LAZY, NO_INDEX } from "./searching.ts";

setDefaultTimeout(30_000);

/** Texts of messages, the plainest way. What was said without a message is left out. */
function texts(events: readonly SessionEvent[]): Omit<Said, "tool">[] {
  let turn = 0;
  return events.flatMap((event): Omit<Said, "tool">[] => {
    const { seq, type, surfaceOp } = event;
    // Checked when it was made.
    const data = event.data as {
      readonly turn?: number;
      readonly content: Parameters<typeof joinText>[0];
      readonly message: { readonly content: Parameters<typeof joinText>[0] };
    };
    if (type === "turn/start" || type === "step/start") turn = data.turn ?? 0;
    if (surfaceOp !== "append") return [];
    if (type === "user/message") return [{ seq, turn, who: "user", text: joinText(data.content) }];
    const { content } = data.message;
    if (type === "tool/result") {
      const [block] = content;
      const text = block?.type === "tool-result" ? joinText(block.content) : "";
      return [{ seq, turn: data.turn ?? 0, who: "tool", text, part: "result" }];
    }
    const place = { seq, turn: data.turn ?? 0 };
    const calls = content.flatMap((block): Omit<Said, "tool">[] =>
      block.type === "tool-call" ? [{ ...place, who: "tool", text: block.arguments, part: "arguments" }] : [],
    );
    return [
      { ...place, who: "reasoning", text: joinText(content, "reasoning") },
      { ...place, who: "assistant", text: joinText(content) },
      ...calls,
    ];
  });
}

/** The hits of {@link texts} alone, without the names of tools. */
function expected(id: string, events: readonly SessionEvent[], matcher: Matcher): string[] {
  return texts(events).flatMap((said) => {
    const match = matcher.find(said.text);
    return match === undefined ? [] : [hitLine(id, said, match.at)];
  });
}

/** Hits of answers that have a message, without the names of tools. */
function plain(hits: readonly string[], events: readonly SessionEvent[]): string[] {
  return hits.flatMap((hit) => {
    const [id, seq, turn, who, , part, at] = JSON.parse(hit);
    const { surfaceOp } = events[seq] ?? {};
    return surfaceOp === undefined ? [] : [JSON.stringify([id, seq, turn, who, null, part ?? null, at])];
  });
}

function withoutNames(lines: readonly string[]): string[] {
  return lines.map((line) => JSON.stringify(JSON.parse(line).map((value: unknown) => value ?? null)));
}

const QUERY = fc.record({
  /** Which text, and which part of it. */
  of: fc.nat(1_000),
  from: fc.nat(40),
  length: fc.integer({ min: 1, max: 12 }),
  isCaseSensitive: fc.boolean(),
});

test("hits are the same in every store, with and without an index, and those of a search through the events", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbitraryEvents(), { minLength: 1, maxLength: 3 }),
      batchSizes(),
      fc.array(QUERY, { minLength: 1, maxLength: 3 }),
      async (sessions, sizes, queries) => {
        await using folder = await TempFolder.create();
        const [database, zstd, lines] = [folder.at("a.db"), folder.at("zstd"), folder.at("lines")];
        for (const [store, encoding] of [
          [database, "zstd"],
          [zstd, "zstd"],
          [lines, "none"],
        ] as const) {
          await withStore(
            store,
            async (opened) => {
              for (const [k, events] of sessions.entries())
                await plant(opened, `s${k}`, recordsOf(events, sizes), { createdAt: k });
            },
            encoding,
          );
        }
        const all = sessions.flatMap(texts).filter(({ text }) => text !== "");
        for (const { of, from, length, isCaseSensitive } of queries) {
          const { text = "milk" } = all[of % Math.max(1, all.length)] ?? {};
          const at = from % text.length;
          const wanted = text.slice(at, at + length);
          const matchers = [textMatcher(wanted, isCaseSensitive)];
          if (wanted.isWellFormed()) matchers.push(patternMatcher(RegExp.escape(wanted), isCaseSensitive));
          for (const matcher of matchers) {
            const found = await find(database, matcher, NO_INDEX);
            const newestFirst = [...sessions.entries()].reverse();
            const reference = newestFirst.flatMap(([k, events]) => expected(`s${k}`, events, matcher));
            const own = newestFirst.flatMap(([k, events]) =>
              plain(
                found.hits.filter((hit) => JSON.parse(hit)[0] === `s${k}`),
                events,
              ),
            );
            expect(own).toEqual(withoutNames(reference));
            expect(found.errors).toEqual([]);
            for (const [store, limits] of [
              [zstd, LAZY],
              [lines, LAZY],
              // Makes the index, then uses it.
              [database, EAGER],
              [database, LAZY],
            ] as const) {
              expect(await find(store, matcher, limits)).toMatchObject({ hits: found.hits, errors: [] });
            }
          }
        }
      },
    ),
    { numRuns: 10 },
  );
});

test("the newest session comes first by its header, in whatever order the sessions were stored; then the id decides", async () => {
  await using folder = await TempFolder.create();
  for (const store of [folder.at("a.db"), folder.at("logs")]) {
    await withStore(store, async (opened) => {
      for (const [id, createdAt] of Object.entries({ d: 3, b: 1, a: 1, c: 2, e: 1 }))
        await plant(opened, id, recordsOfDrafts([userMessage("milk")]), { createdAt });
    });
    const { hits } = await find(store, textMatcher("milk", false));
    expect(hits.map((hit) => JSON.parse(hit)[0])).toEqual(["d", "c", "a", "b", "e"]);
  }
});

describe("of a damaged log", () => {
  const milk = textMatcher("milk", false);

  async function damagedLog(change: (lines: string[]) => void): Promise<TempFolder> {
    const folder = await TempFolder.create();
    const drafts = [1, 2, 3].flatMap((n) => [turnStart(n), userMessage(`milk ${n}`), turnEnd(n)]);
    await withStore(folder.at("logs"), (store) => plant(store, "s", recordsOfDrafts(drafts)), "none");
    const path = folder.at("logs/--srv-x--/s/session.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    change(lines);
    writeFileSync(path, lines.join("\n"));
    return folder;
  }

  test.each([
    ["what is no record", (lines: string[]) => lines.splice(4, 1, "{")],
    ["events that are missing", (lines: string[]) => lines.splice(4, 2)],
  ])("hits are those before %s, and the damage is told", async (_, change) => {
    await using folder = await damagedLog(change);
    const { hits, errors } = await find(folder.at("logs"), milk);
    expect(hits.map((hit) => JSON.parse(hit)[1])).toEqual([1]);
    expect(errors).toEqual(["s corrupt"]);
  });

  test("hits are those before an end that was never fully written, which is no damage", async () => {
    await using folder = await damagedLog((lines) => lines.splice(8, 2, '{"type":"user/mess'));
    expect(await find(folder.at("logs"), milk)).toMatchObject({ hits: { length: 2 }, errors: [] });
  });

  test("one that no id leads to is told as damage, with its file", async () => {
    await using folder = await damagedLog(() => {});
    renameSync(folder.at("logs/--srv-x--/s"), folder.at("logs/--srv-x--/S%s"));
    const name = { kind: "jsonl", path: folder.at("logs") } as const;
    await using store = await openSearch(name, { needle: "milk", isIndexed: false });
    const steps = search(store, { matcher: milk, speakers: new Set(["user"]) });
    const [step] = await Array.fromAsync(steps);
    expect(step).toMatchObject({
      kind: "session",
      error: {
        code: "corrupt",
        place: { path: folder.at("logs/--srv-x--/S%s/session.jsonl"), sessionId: "S%s" },
        hint: expect.stringContaining("sessions verify"),
      },
    });
  });

  test("an id that two files claim is told once", async () => {
    await using folder = await damagedLog(() => {});
    cpSync(folder.at("logs/--srv-x--"), folder.at("logs/--srv-y--"), { recursive: true });
    expect(await find(folder.at("logs"), milk)).toMatchObject({ hits: [], errors: ["s storage-failed"] });
  });
});
