import { describe, expect, test } from "bun:test";
import { cpSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { isEvent, type ModelMessage, type SessionEvent } from "../../../src/session/events.ts";
import { CorruptError } from "../../../src/store/errors.ts";
import { compactJsonl } from "../../../src/store/jsonl/compactor.ts";
import { openJsonl, openJsonlReadOnly } from "../../../src/store/jsonl/index.ts";
import type { SessionPersistence, SessionSnapshot } from "../../../src/store/persistence.ts";
import { rejectionOf } from "../../contract/support.ts";
import { blanked, dshSamples, type SampleSession, workloadSample } from "../../fixtures/dsh-samples.ts";
import { sha256 } from "../../fixtures/sha256.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";

const clock = () => 0;
const ENCODINGS = ["zstd", "none"] as const;

/** The history that a model is sent after the closers. */
function messagesOf({ projections, log, header }: SessionSnapshot): ModelMessage[] {
  return projections.messages(log, header.id);
}

/** dsh's events also hold the ids that it gives to messages of older logs; ours get them in the history. */
function withLegacyIds(
  event: SessionEvent,
  id: string,
  messages: ReadonlyMap<string | undefined, ModelMessage>,
): SessionEvent {
  const message = messages.get(`legacy-message:${id}:${event.seq}`);
  if (message === undefined) return event;
  return { ...event, data: isEvent(event, "user/message") ? message : { ...Object(event.data), message } };
}

function eventsDigest(snapshot: SessionSnapshot): string {
  const byId = new Map(messagesOf(snapshot).map((message) => [message.id, message]));
  const stored = snapshot.log.slice(0, snapshot.log.length - snapshot.closers.length);
  const texts = stored.map((event) => JSON.stringify(withLegacyIds(event, snapshot.header.id, byId)));
  return sha256(texts.join("\n"));
}

function expectAsDsh(snapshot: SessionSnapshot, expected: SampleSession): void {
  expect<unknown>(snapshot.header).toEqual(expected.header);
  expect(snapshot.log.length - snapshot.closers.length).toBe(expected.events);
  expect(eventsDigest(snapshot)).toBe(expected.eventsSha256);
  expectClosed(snapshot, expected);
  expect(messagesOf(snapshot).length).toBe(expected.messages);
}

function expectClosed(
  snapshot: SessionSnapshot,
  expected: Pick<SampleSession, "closers" | "messagesSha256">,
): void {
  expect(blanked(snapshot.closers)).toEqual(blanked(expected.closers));
  if (expected.messagesSha256 === undefined) return;
  expect(sha256(JSON.stringify(messagesOf(snapshot)))).toBe(expected.messagesSha256);
}

/** Compacts the sessions of a root; each must then be read as dsh reads the original. */
async function expectCompacted(root: string, sessions: readonly SampleSession[]): Promise<void> {
  await using compactor = await compactJsonl(root, { dryRun: false });
  let compacted = 0;
  for (const { id } of sessions) {
    const { state } = await compactor.compact(id);
    expect(state).not.toBe("refused");
    if (state === "compacted") compacted += 1;
  }
  expect(compacted).toBeGreaterThan(0);
  await using store = await openJsonlReadOnly({ root, clock });
  for (const expected of sessions) expectAsDsh(await store.inspect(expected.id), expected);
}

async function pagesOf(store: SessionPersistence) {
  return (await store.list({ limit: 1_000 })).items;
}

for (const encoding of ENCODINGS) {
  const { sessions, refused, cuts, root, absent } = dshSamples(encoding);
  const openSamples = () => openJsonlReadOnly({ root, clock });

  describe(`dsh's sample logs, encoding ${encoding}`, () => {
    test.skipIf(absent)("are there, and all are listed", async () => {
      expect([sessions.length, refused.length, cuts.length]).toEqual([48, 4, 120]);
      await using store = await openSamples();
      const ids = [...sessions, ...refused].map(({ id }) => id);
      expect((await pagesOf(store)).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    });

    test.each(sessions)("$id: header, events, closers and history are dsh's", async (expected) => {
      await using store = await openSamples();
      expectAsDsh(await store.inspect(expected.id), expected);
    });

    test.skipIf(absent)("compacted: header, events, closers and history are dsh's", async () => {
      await using folder = await TempFolder.create();
      cpSync(root, folder.path, { recursive: true });
      await expectCompacted(folder.path, sessions);
    });

    test.each(cuts)("$id after $length bytes: what is left and the closers are dsh's", async (expected) => {
      await using folder = await TempFolder.create();
      const file = sessions.find(({ id }) => id === expected.id)?.file ?? "";
      const path = join(folder.path, file);
      cpSync(join(root, file), path);
      truncateSync(path, expected.length);
      await using store = await openJsonlReadOnly({ root: folder.path, clock });
      if ("error" in expected) {
        expect(await rejectionOf(store.inspect(expected.id))).toMatchObject({ code: "corrupt" });
        return;
      }
      const snapshot = await store.inspect(expected.id);
      expect(snapshot.log.length - snapshot.closers.length).toBe(expected.stored);
      expectClosed(snapshot, expected);
    });

    test.each(refused)("$id, which dsh refuses, is refused and listed with the reason", async ({ id }) => {
      await using store = await openSamples();
      const error = await rejectionOf(store.inspect(id));
      if (!(error instanceof CorruptError)) throw error;
      expect(error.place).toMatchObject({ sessionId: id, seq: 0 });
      const listed = (await pagesOf(store)).find((item) => item.id === id);
      expect(listed?.header?.id).toBe(id);
      expect(listed?.problem).toEqual({ state: "corrupt", reason: error.message });
    });
  });
}

describe("the long sample session", () => {
  const sample = workloadSample();

  test.skipIf(sample === undefined)("is read as dsh reads it", async () => {
    if (sample === undefined) return;
    await using store = await openJsonlReadOnly({ root: sample.root, clock });
    expectAsDsh(await store.inspect(sample.session.id), sample.session);
  });

  test.skipIf(sample === undefined)(
    "takes at most 560,000 bytes when it is compacted, and is read as before",
    async () => {
      if (sample === undefined) return;
      await using folder = await TempFolder.create();
      cpSync(sample.root, folder.path, { recursive: true });
      await expectCompacted(folder.path, [sample.session]);
      expect(statSync(join(folder.path, sample.session.file)).size).toBeLessThanOrEqual(560_000);
    },
  );

  test.skipIf(sample === undefined)("is resumed: closed once, and gone on with", async () => {
    if (sample === undefined) return;
    await using folder = await TempFolder.create();
    const root = join(folder.path, "root");
    cpSync(sample.root, root, { recursive: true });
    const { id, events, closers } = sample.session;
    for (const more of [0, 1]) {
      await using store = await openJsonl({ root, clock, chunkWindowMs: 0 });
      await using preparation = await store.prepare(id);
      expect(preparation.closers.length).toBe(more === 0 ? closers.length : 0);
      await using session = preparation.publish();
      const { log } = session;
      expect(log.length).toBe(events + closers.length + more);
      await log.append({ type: "todo/write", data: { more } });
    }
  });
});

test.skipIf(dshSamples("zstd").absent)("reading a root leaves every file as it was", async () => {
  const { root, sessions } = dshSamples("zstd");
  await using folder = await TempFolder.create();
  cpSync(root, folder.path, { recursive: true });
  const state = () =>
    readdirSync(folder.path, { recursive: true })
      .map(String)
      .toSorted()
      .map((name) => [name, statSync(join(folder.path, name)).mtimeMs]);
  const before = state();
  {
    await using store = await openJsonlReadOnly({ root: folder.path, clock });
    await store.list();
    for (const { id } of sessions) {
      await store.inspect(id);
      await store.readFrom(id, 3);
    }
  }
  expect(state()).toEqual(before);
});
