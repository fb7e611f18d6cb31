import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { SessionEvent } from "../../src/session/events.ts";
import type { SessionHeader } from "../../src/session/header.ts";
import {
  allEventDrafts,
  arbitrarySession,
  batchSizes,
  inBatches,
  oddString,
} from "../fixtures/arbitraries.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { bringDsh, type Encoding } from "./dsh.ts";
import { inTermsOfDsh, isSafeInNode24 } from "./dsh-terms.ts";
import { openRoot, readingOf, recover } from "./rewriting.ts";
import { dshReadings, type Reading } from "./samples.ts";

/*
 * What Holdfast writes, dsh loads: sessions that never were in dsh's hands.
 */

const TIMEOUT_MS = 60_000;
const ENCODINGS: readonly Encoding[] = ["zstd", "none"];
const SEED = 20_260;
const SESSIONS = 40;

const dsh = await bringDsh();
const skipped = dsh.missing === undefined ? "" : ` (skipped: ${dsh.missing})`;

interface OwnSession {
  readonly header: SessionHeader;
  readonly batches: ReadonlyArray<readonly SessionEvent[]>;
}

function plainHeader(id: string): SessionHeader {
  return { version: 0, id, createdAt: 1_700_000_000_000, delegationDepth: 0 };
}

/** Sessions with all event types and all kinds of texts; half of them break off anywhere. */
function ownSessions(): OwnSession[] {
  const sizes = fc.sample(batchSizes(), { numRuns: SESSIONS, seed: SEED });
  const arbitrary = arbitrarySession().filter(isSafeInNode24);
  const drafts = [allEventDrafts(), ...fc.sample(arbitrary, { numRuns: SESSIONS - 1, seed: SEED })];
  return drafts.map((list, k) => ({
    header: plainHeader(`own-${k}`),
    batches: inBatches(inTermsOfDsh(list), sizes[k] ?? [1]),
  }));
}

/** Sessions with every member of a header; ids and folders hold what no file name may hold. */
function oddHeaders(): SessionHeader[] {
  const text = oddString(2);
  const header = fc.record(
    {
      version: fc.constant<0>(0),
      id: text.filter((id) => id !== ""),
      createdAt: fc.maxSafeNat(),
      cwd: text.map((path) => `/${path}`),
      parentSession: text,
      seedLength: fc.nat(),
      origin: fc.constant("subagent"),
      delegationDepth: fc.nat(5),
      agentPreset: text,
    },
    { requiredKeys: ["version", "id", "createdAt"], noNullPrototype: true },
  );
  const named = [".", "..", "~", "con", "a/../b", "C:\\x"].map(plainHeader);
  const found = [...named, ...fc.sample(header, { numRuns: 30, seed: SEED })];
  return [...new Map(found.map((one) => [one.id, one])).values()];
}

/** Writes sessions as programs do that append events with their seqs; returns what Holdfast reads from them. */
async function write(
  root: string,
  encoding: Encoding,
  sessions: readonly OwnSession[],
): Promise<Record<string, Reading>> {
  await using store = await openRoot(root, encoding);
  const readings = sessions.map(async ({ header, batches }): Promise<[string, Reading]> => {
    await using session = await store.create(header);
    for (const batch of batches) await store.append(session.id, batch);
    await session[Symbol.asyncDispose]();
    return [header.id, readingOf(await store.inspect(header.id))];
  });
  return Object.fromEntries(await Promise.all(readings));
}

/** Without the digest of messages where a closer's own wording enters it. */
function withoutWording(reading: Reading): Reading {
  const { messagesSha256: _, ...rest } = reading;
  return JSON.stringify(reading.closers).includes('"tool/result"') ? rest : reading;
}

describe.skipIf(dsh.missing !== undefined)(`sessions that Holdfast made${skipped}`, () => {
  test.each(ENCODINGS)(
    "%s: dsh reads all event types without loss, and open Turns closed alike, by itself and by Holdfast",
    async (encoding) => {
      await using folder = await TempFolder.create();
      const [root, recovered] = [folder.at("root"), folder.at("recovered")];
      const sessions = ownSessions();
      const written = await write(root, encoding, sessions);
      await write(recovered, encoding, sessions);
      const readings = await recover(recovered, encoding, Object.keys(written));
      const after = Object.fromEntries(readings.map((reading, k) => [sessions[k]?.header.id, reading.after]));
      const before = Object.fromEntries(
        Object.entries(written).map(([id, reading]) => [id, withoutWording(reading)]),
      );
      const read = await dsh.read([root, recovered].map((path) => ({ root: path, encoding })));
      expect(dshReadings(read[0], before)).toEqual(before);
      expect(dshReadings(read[1], after)).toEqual(after);
      const open = Object.values(written).filter(({ closers }) => closers.length > 0);
      expect(open.length).toBeGreaterThan(SESSIONS / 4);
    },
    TIMEOUT_MS,
  );

  test.each(ENCODINGS)(
    "%s: dsh finds each session by its header, whatever its id and folder hold",
    async (encoding) => {
      await using folder = await TempFolder.create();
      const root = folder.at("root");
      const events = inTermsOfDsh([{ type: "session/end-seed", data: {} }]);
      const headers = oddHeaders();
      await write(
        root,
        encoding,
        headers.map((header) => ({ header, batches: [events] })),
      );
      const [read] = await dsh.read([{ root, encoding }]);
      // On the disk each session has a depth: dsh does without no other optional member, but without this one.
      const expected = headers.map((header) => [header.id, { delegationDepth: 0, ...header }]);
      expect(read?.listed).toEqual(Object.fromEntries(expected));
      const broken = Object.entries(read?.sessions ?? {}).filter(([, session]) => "error" in session);
      expect(broken).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
