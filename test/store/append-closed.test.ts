import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { EventDraft } from "../../src/session/events.ts";
import { appendClosed } from "../../src/store/append-closed.ts";
import { openJsonl } from "../../src/store/jsonl/index.ts";
import { openMemory } from "../../src/store/memory/index.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { rejectionOf } from "../contract/support.ts";
import { arbitraryEvents } from "../fixtures/arbitraries.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { tearLog } from "../fixtures/log-files.ts";
import { headerText, recordsOfDrafts, recordsOfTexts } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const TITLE: EventDraft = { type: "session/title", data: { title: "T" } };
const NOW = 1_700_000_000_000;
const options = { clock: () => NOW, chunkWindowMs: 0 };

async function textsOf(store: SessionPersistence): Promise<string[]> {
  return [...(await store.inspect("s")).log.texts()];
}

describe("an event that is appended to a session nobody has open", () => {
  test("leaves what resuming the session and appending to it leaves, whatever is in it", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryEvents(), async (events) => {
        fc.pre(events.length > 0);
        await using resumed = await openMemory(options);
        await using closed = await openMemory(options);
        const records = recordsOfTexts(events.map((event) => JSON.stringify(event)));
        for (const store of [resumed, closed]) await store.importRecords(headerText("s"), records);
        await using preparation = await resumed.prepare("s");
        await preparation.session.log.append(TITLE);
        const result = await appendClosed(closed, "s", TITLE, NOW);
        const texts = await textsOf(closed);
        expect(texts).toEqual(await textsOf(resumed));
        expect(result).toEqual({
          seq: texts.length - 1,
          closers: preparation.closers.length,
          torn: false,
        });
      }),
      { numRuns: 40 },
    );
  });

  test.each(["zstd", "none"] as const)(
    "takes the place of an end that was torn off, in %s",
    async (encoding) => {
      await using folder = await TempFolder.create();
      await using store = await openJsonl({ ...options, root: folder.path, encoding, thread: "process" });
      const header = { version: 0 as const, id: "s", createdAt: NOW };
      await store.importRecords(headerText("s"), recordsOfDrafts([turnStart(1), userMessage("Go on.")]));
      tearLog(store.locate(header), encoding);
      const { seq, torn } = await appendClosed(store, "s", TITLE, NOW);
      expect(torn).toBe(true);
      const { log, torn: isTorn } = await store.inspect("s");
      expect([isTorn, log.at(seq).type, log.length]).toEqual([false, "session/title", seq + 1]);
    },
  );

  test("is refused where the session is open, or holds an event of an unknown type", async () => {
    await using store = await openMemory(options);
    await store.importRecords(headerText("s"), recordsOfDrafts([turnStart(1)]));
    {
      await using _ = await store.prepare("s");
      expect(await rejectionOf(appendClosed(store, "s", TITLE, NOW))).toMatchObject({ code: "session-open" });
    }
    const unknown = JSON.stringify({ type: "other/thing", seq: 0, time: NOW, data: {} });
    await store.importRecords(headerText("u"), recordsOfTexts([unknown]));
    expect(await rejectionOf(appendClosed(store, "u", TITLE, NOW))).toMatchObject({
      code: "unsupported-format",
    });
  });
});
