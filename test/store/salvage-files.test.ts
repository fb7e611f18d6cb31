import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { openMemory } from "../../src/store/memory/index.ts";
import { openRepairer } from "../../src/store/open-examiner.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { type SalvageResult, salvageSession } from "../../src/store/salvage.ts";
import { openSalvageSource } from "../../src/store/salvage-source.ts";
import { parseStoreName } from "../../src/store/store-name.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import { turnStart } from "../fixtures/event-drafts.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { tearLog } from "../fixtures/log-files.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { BATCHES, kindsOf } from "./jsonl/damage-kinds.ts";
import { buildLog } from "./jsonl/log-bytes.ts";
import { ENCODINGS } from "./jsonl/place.ts";

/** Salvages everything in a source into a store in memory, which `look` may look into. */
async function salvageAll(
  from: string,
  look: (store: SessionPersistence) => Promise<void> = () => Promise.resolve(),
): Promise<SalvageResult[]> {
  await using source = await openSalvageSource(from);
  await using store = openMemory({ clock: () => 0, chunkWindowMs: 0 });
  const results: SalvageResult[] = [];
  for await (const session of source.sessions()) {
    results.push(await salvageSession(session, () => Promise.resolve(store), { clock: () => 0 }));
  }
  await look(store);
  return results;
}

/** What each session came to: events that were taken over or kept, and how many are missing. */
async function counts(from: string): Promise<unknown[]> {
  return (await salvageAll(from)).map((result) => {
    if (!("totals" in result)) return [result.id, result.state];
    const { taken, aside, missing } = result.totals;
    return [result.id, taken, aside, missing];
  });
}

describe.each(ENCODINGS)("a log file anywhere, encoding %s", (encoding) => {
  test.each(kindsOf(encoding))("with $name: every event that can be read is there", async (kind) => {
    await using folder = await TempFolder.create();
    const path = folder.at("found-somewhere");
    writeFileSync(path, Buffer.concat(kind.parts(encoding)));
    const before = await folderState(folder.path);
    const [result] = await salvageAll(path);
    expect(await folderState(folder.path)).toEqual(before);
    const readable = kind.keptEvents + kind.cutEvents;
    if (readable === 0) expect(result?.state).toBe("empty");
    else if (result?.state !== "salvaged") throw new Error(`it is ${result?.state}`);
    else {
      const { taken, aside, repeated } = result.totals;
      expect(taken + aside + repeated).toBe(readable);
      expect(result.id).toBe(kind.header === "made" ? "found-somewhere" : "s");
    }
  });

  test("that is the rest of a torn log gives what is in it", async () => {
    await using folder = await TempFolder.create();
    const { bytes, offsets } = buildLog("s", encoding, BATCHES);
    // As it is set aside: it begins with a whole frame or line, and has no header.
    const piece = folder.at(`session.jsonl.torn-${offsets[1]}`);
    writeFileSync(piece, bytes.subarray(offsets[1]));
    const [result] = await salvageAll(piece);
    expect(result).toMatchObject({ state: "salvaged", totals: { missing: 2, damaged: 0 } });
    tearLog(piece, encoding);
    expect(await salvageAll(piece)).toMatchObject([{ state: "salvaged", totals: { damaged: 1 } }]);
  });

  test("of which a repair cut the end: the backup gives all, the quarantine file what was cut", async () => {
    await using folder = await TempFolder.create();
    const { bytes, offsets } = buildLog("s", encoding, BATCHES);
    const log = folder.at("root", "--p--", "s", `session.jsonl${encoding === "zstd" ? ".zstd" : ""}`);
    await Bun.write(log, Buffer.concat([bytes.subarray(0, offsets[1]), bytes.subarray(offsets[2])]));
    await repairAll(`jsonl:${folder.at("root")}`);
    expect(await counts(`${log}.backup-1`)).toEqual([["s", 6, 0, 2]]);
    expect(await counts(`${log}.quarantine-1`)).toEqual([["s", 3, 1, 4]]);
    expect(await counts(log)).toEqual([["s", 3, 0, 0]]);
  });
});

async function repairAll(name: string): Promise<void> {
  await using repairer = await openRepairer(parseStoreName(name));
  for (const step of (await repairer.plan()).steps) await repairer.carryOut(step);
}

describe("a database", () => {
  test("with a row of another checksum: what is before, between and after it", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("a.db");
    await makeStore(path);
    damage(path, (database) => rewriteBody(database, SEQ.run, "milk", "wine", { fixChecksum: false }));
    const before = await folderState(folder.path);
    await salvageAll(path, async (store) => {
      const { log, projections } = await store.inspect("default-salvaged");
      const texts = [...projections.transcript(log)].map((entry) =>
        "text" in entry ? entry.text : entry.kind,
      );
      expect(texts).toEqual(["What do I need?", "Remember the milk, the bread"]);
    });
    expect(await counts(path)).toEqual([["default", 6, 0, 5]]);
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("that was repaired: the backup gives all, the quarantine file the rows that were cut", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("a.db");
    await makeStore(path);
    await withStore(`sqlite:${path}`, (store) => plant(store, "other", recordsOfDrafts([turnStart(1)])));
    damage(path, (database) => rewriteBody(database, SEQ.run, "milk", "wine", { fixChecksum: false }));
    await repairAll(`sqlite:${path}`);
    expect(await counts(`${path}.backup-1`)).toEqual([
      ["default", 6, 0, 5],
      ["other", 1, 0, 0],
    ]);
    expect(await counts(`${path}.quarantine-1`)).toEqual([["default", 3, 0, 8]]);
  });

  test("of which pages are gone: what the others hold", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("a.db");
    await withStore(`sqlite:${path}`, async (store) => {
      const text = "x".repeat(500);
      const drafts = Array.from(
        { length: 200 },
        (_, n) => ({ type: "session/title", data: { n, text } }) as const,
      );
      await plant(store, "s", recordsOfDrafts(drafts));
    });
    const pages = readFileSync(path);
    pages.fill(0xa5, 8 * 4096, 10 * 4096);
    writeFileSync(path, pages);
    const [result] = await salvageAll(path);
    if (result?.state !== "salvaged") throw new Error(`it is ${result?.state}`);
    const { taken, aside, missing } = result.totals;
    expect(taken + aside + missing).toBe(200);
    expect(taken).toBeGreaterThan(150);
    copyFileSync(path, folder.at("half"));
    truncateSync(folder.at("half"), pages.length / 2);
    const [half] = await salvageAll(`sqlite:${folder.at("half")}`);
    expect(half).toMatchObject({ state: "salvaged" });
  });
});

describe("what is no source", () => {
  test("is refused, each with its own error", async () => {
    await using folder = await TempFolder.create();
    writeFileSync(folder.at("notes.db"), "These are notes.\n".repeat(500));
    const refused = async (name: string) => {
      const error: unknown = await openSalvageSource(name).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      return error instanceof Error && "code" in error ? error.code : undefined;
    };
    expect(await refused(folder.at("nowhere"))).toBe("not-found");
    expect(await refused(`sqlite:${folder.at("notes.db")}`)).toBe("unsupported-format");
    expect(await refused("s3:bucket")).toBe("usage");
    writeFileSync(folder.at("s.jsonl.gz"), Bun.gzipSync("x"));
    expect(await refused(folder.at("s.jsonl.gz"))).toBe("unsupported-format");
    // Without a kind it is taken for a log, of which nothing can be read.
    expect(await counts(folder.at("notes.db"))).toEqual([["notes.db", "empty"]]);
  });
});
