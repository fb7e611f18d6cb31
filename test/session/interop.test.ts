import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { HoldfastError } from "../../src/session/errors.ts";
import type { ModelMessage, SessionEvent } from "../../src/session/events.ts";
import { decodeHeader, type SessionHeader } from "../../src/session/header.ts";
import { LogView } from "../../src/session/log-view.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { decodeRecord, encodeEvent, packBatch, type SessionRecord } from "../../src/session/records.ts";
import { closeInterruptedTurn } from "../../src/session/recovery.ts";

/*
 * Logs that dsh wrote, beside a manifest of what dsh itself reads from them. They lie outside of the repository; where
 * they are absent, these tests are skipped.
 */

const ROOT = new URL("../../../shared/interop/dsh-v0/", import.meta.url);
const MANIFEST = new URL("manifest-raw.json", ROOT);

const read = z.looseObject({ closers: z.array(z.unknown()), messagesSha256: z.string().optional() });
const manifestSchema = z.object({
  sessions: z.array(
    read.extend({
      id: z.string(),
      file: z.string(),
      header: z.unknown(),
      events: z.number(),
      eventsSha256: z.string(),
      messages: z.number(),
    }),
  ),
  refused: z.array(z.object({ id: z.string(), file: z.string() })),
  cuts: z.array(
    z.union([
      read.extend({ id: z.string(), length: z.number(), stored: z.number() }),
      z.object({ id: z.string(), length: z.number(), error: z.string() }),
    ]),
  ),
});

const absent = !existsSync(MANIFEST);
const manifest = absent
  ? { sessions: [], refused: [], cuts: [] }
  : manifestSchema.parse(JSON.parse(readFileSync(MANIFEST, "utf8")));

interface Closed {
  readonly header: SessionHeader;
  readonly stored: LogView;
  readonly closers: readonly SessionEvent[];
  readonly messages: readonly ModelMessage[];
}

/** The whole lines among the first `length` bytes of a log. */
function linesOf(file: string, length = Number.POSITIVE_INFINITY): string[] {
  const bytes = readFileSync(new URL(`raw/${file}`, ROOT)).subarray(0, length);
  return bytes.toString("utf8").split("\n").slice(0, -1);
}

/** A log as it is read, with its closers. */
function open([headerLine = "", ...lines]: readonly string[]): Closed {
  const header = decodeHeader(headerLine, {});
  const projections = new SessionProjections();
  const records: SessionRecord[] = [];
  for (const [k, line] of lines.entries()) {
    const decoded = decodeRecord(line, { row: k + 2 });
    expect(decoded.record.seq).toBe(projections.seen);
    expect(decoded.unknownType).toBe(false);
    expect(projections.foldDecoded(decoded)).toBeUndefined();
    records.push(decoded.record);
  }
  const closers = closeInterruptedTurn(projections.openWork, projections.seen);
  const closed = new LogView([...records, ...packBatch(closers.map(encodeEvent))]);
  const messages = projections.catchUp(closed).messages(closed, header.id);
  return { header, stored: new LogView(records), closers, messages };
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

/** Closers with their texts blanked, as the manifest has them: the wording is each program's own. */
function blanked(closers: readonly unknown[]): unknown {
  return JSON.parse(
    JSON.stringify(closers, (key, value: unknown) => (key === "text" ? "<own wording>" : value)),
  );
}

/** dsh's events also hold the ids that it gives to messages of older logs; ours get them in the history. */
function withLegacyIds(event: SessionEvent, { header, messages }: Closed): SessionEvent {
  const id = `legacy-message:${header.id}:${event.seq}`;
  const message = messages.find((candidate) => candidate.id === id);
  if (message === undefined) return event;
  return { ...event, data: event.type === "user/message" ? message : { ...Object(event.data), message } };
}

test.skipIf(absent)("dsh's sample logs are there", () => {
  expect([manifest.sessions.length, manifest.refused.length, manifest.cuts.length]).toEqual([48, 4, 120]);
});

describe("a log that dsh reads", () => {
  test.each(manifest.sessions)("$id: header, events, closers and history are the same", (expected) => {
    const log = open(linesOf(expected.file));
    expect<unknown>(log.header).toEqual(expected.header);
    expect(log.stored.length).toBe(expected.events);
    const events = log.stored.slice().map((event) => withLegacyIds(event, log));
    expect(sha256(events.map((event) => JSON.stringify(event)).join("\n"))).toBe(expected.eventsSha256);
    expect(blanked(log.closers)).toEqual(blanked(expected.closers));
    expect(log.messages.length).toBe(expected.messages);
    if (expected.messagesSha256 !== undefined)
      expect(sha256(JSON.stringify(log.messages))).toBe(expected.messagesSha256);
  });
});

describe("a log that was cut", () => {
  test.each(manifest.cuts)(
    "$id after $length bytes: events, closers and history are the same",
    (expected) => {
      const file = manifest.sessions.find(({ id }) => id === expected.id)?.file ?? "";
      const lines = linesOf(file, expected.length);
      if ("error" in expected) {
        expect(lines).toEqual([]);
        return;
      }
      const log = open(lines);
      expect(log.stored.length).toBe(expected.stored);
      expect(blanked(log.closers)).toEqual(blanked(expected.closers));
      if (expected.messagesSha256 !== undefined)
        expect(sha256(JSON.stringify(log.messages))).toBe(expected.messagesSha256);
    },
  );
});

describe("a log that dsh refuses", () => {
  test.each(manifest.refused)("$id is refused", ({ file }) => {
    expect(() => open(linesOf(file))).toThrow(HoldfastError);
  });
});
