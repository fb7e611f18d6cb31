import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copySession } from "../../src/store/copy.ts";
import { LogDigest } from "../../src/store/digest.ts";
import { openExaminer } from "../../src/store/open-examiner.ts";
import { openStore, openStoreReadOnly } from "../../src/store/open-store.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import type { StoreName } from "../../src/store/store-name.ts";
import { type SessionVerdict, verifySessions, verifyStore } from "../../src/store/verify.ts";
import { dshSamples, workloadSample } from "../fixtures/dsh-samples.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/* Logs that dsh wrote are sound, and their digests are those of what an ordinary reader gets to see. */

setDefaultTimeout(30_000);

interface Verified {
  readonly verdicts: ReadonlyMap<string, SessionVerdict>;
  /** Codes of what was found, by session; those of the store itself under no name. */
  readonly codes: ReadonlyMap<string, readonly string[]>;
}

async function verify(name: StoreName): Promise<Verified> {
  await using examiner = await openExaminer(name);
  const verdicts = new Map<string, SessionVerdict>();
  const codes = new Map<string, string[]>();
  for (const reports of [verifyStore(examiner), verifySessions(examiner)]) {
    for await (const report of reports) {
      if (report.kind === "session") verdicts.set(report.id, report);
      if (report.kind !== "finding") continue;
      const { session = "", finding } = report;
      codes.set(session, [...(codes.get(session) ?? []), finding.code]);
    }
  }
  return { verdicts, codes };
}

async function readDigest(store: SessionPersistence, id: string): Promise<string> {
  const digest = new LogDigest();
  const { pages } = await store.stream(id);
  for await (const page of pages) for (const { record } of page) digest.add(record);
  return digest.hex();
}

describe.each(["zstd", "none"] as const)("sample logs, encoding %s,", (encoding) => {
  const { root, sessions, refused, cuts, absent } = dshSamples(encoding);

  test.skipIf(absent)("are sound, but for those that dsh refuses", async () => {
    const { verdicts, codes } = await verify({ kind: "jsonl", path: root });
    expect(sessions.length).toBeGreaterThan(0);
    await using store = await openStoreReadOnly({ kind: "jsonl", path: root }, { clock: () => 0 });
    for (const { id, events } of sessions) {
      expect(codes.get(id)).toBeUndefined();
      const digest = await readDigest(store, id);
      expect(verdicts.get(id)).toMatchObject({ state: "ok", events, digest });
    }
    for (const { id } of refused) {
      expect(codes.get(id)?.[0]).toBe("malformed");
      expect(verdicts.get(id)).toMatchObject({ state: "damaged", events: 0 });
    }
    expect(verdicts.size).toBe(sessions.length + refused.length);
  });

  test.skipIf(absent)("that are cut anywhere are torn, and as long as dsh reads them", async () => {
    expect(cuts.length).toBeGreaterThan(0);
    await using folder = await TempFolder.create();
    for (const [k, cut] of cuts.entries()) {
      const file = sessions.find(({ id }) => id === cut.id)?.file ?? "";
      const path = folder.at(String(k), file);
      await mkdir(dirname(path), { recursive: true });
      await Bun.write(path, (await Bun.file(join(root, file)).bytes()).subarray(0, cut.length));
      // A log that was written just now may still be growing.
      await utimes(path, 0, 0);
      const { verdicts, codes } = await verify({ kind: "jsonl", path: folder.at(String(k)) });
      const { state, events } = verdicts.get(cut.id) ?? {};
      const found = codes.get(cut.id) ?? [];
      if ("error" in cut) {
        expect({ cut, found: found.filter((code) => code !== "open-turn") }).not.toMatchObject({ found: [] });
        continue;
      }
      expect({ cut, events }).toEqual({ cut, events: cut.stored });
      const isTorn = found.includes("torn-tail");
      expect({ cut, state }).toEqual({ cut, state: isTorn ? "torn" : "ok" });
      const expected = [...(isTorn ? ["torn-tail"] : []), ...(cut.closers.length > 0 ? ["open-turn"] : [])];
      expect({ cut, found }).toEqual({ cut, found: expected });
    }
  });
});

const workload = workloadSample();
const zstd = dshSamples("zstd");

test.skipIf(workload === undefined)("the long sample log is sound, and its last Turn is open", async () => {
  const { id = "", events, eventsSha256 } = workload?.session ?? {};
  const { verdicts, codes } = await verify({ kind: "jsonl", path: workload?.root ?? "" });
  expect(verdicts.get(id)).toMatchObject({ state: "ok", events, digest: eventsSha256, errors: 0, notes: 1 });
  expect(codes).toEqual(new Map([[id, ["open-turn"]]]));
});

test.skipIf(workload === undefined || zstd.absent)(
  "copied to a database, all of them are sound, with the same digests",
  async () => {
    await using folder = await TempFolder.create();
    const to = { kind: "sqlite", path: folder.at("a.db") } as const;
    const options = { clock: () => 0 };
    const digests = new Map<string, string>();
    const all = [
      zstd,
      { root: workload?.root ?? "", sessions: workload === undefined ? [] : [workload.session] },
    ];
    {
      await using target = await openStore(to, { ...options, chunkWindowMs: 0, thread: "process" });
      for (const { root, sessions } of all) {
        await using source = await openStoreReadOnly({ kind: "jsonl", path: root }, options);
        for (const { id } of sessions) {
          const result = await copySession(source, target, id);
          if (result.state === "copied") digests.set(id, result.digest);
        }
      }
    }
    const { verdicts, codes } = await verify(to);
    for (const { id, events } of all.flatMap(({ sessions }) => sessions))
      expect(verdicts.get(id)).toMatchObject({ state: "ok", events, digest: digests.get(id) });
    expect(codes).toEqual(new Map([[workload?.session.id ?? "", ["open-turn"]]]));
  },
);
