import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { compactJsonl } from "../../../src/store/jsonl/compactor.ts";
import { outcomesOf } from "../../contract/support.ts";
import { folderState } from "../../fixtures/folder-state.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";
import { compactRoot, frameTexts, runText, streamedBatches, streamedLog } from "./compacting.ts";
import { buildLog, encodeBatch, frameOf, headerText, rawFrame, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place, readLog } from "./place.ts";
import { bytesOf } from "./repaired.ts";

const FRAME = 256 * 1024;
const LAST = 16 * 1024;
/** Text of a log that fills some frames. */
const MUCH = 700_000;

/** Events of a session, one by one, as a reader gets them. */
async function textsIn(place: Place, id = "s"): Promise<readonly string[]> {
  await using store = await place.read();
  const { texts, torn, fault } = await readLog(store, id);
  expect([torn, fault]).toEqual([false, undefined]);
  return texts;
}

describe("a compacted log in frames", () => {
  test("has its header alone, full frames and a short last one, the same events, and a second time nothing changes", async () => {
    using place = new Place();
    const path = place.put("s", "zstd", streamedLog("zstd", MUCH));
    const texts = await textsIn(place);
    const before = statSync(path).size;
    const result = await compactRoot(place.root);
    expect(result).toMatchObject({ id: "s", state: "compacted", before, events: texts.length });
    if (result.state !== "compacted") throw new Error(result.state);
    expect(result.after).toBe(statSync(path).size);
    expect(result.after).toBeLessThan(before * 0.8);
    expect(await textsIn(place)).toEqual(texts);
    const [header, ...frames] = frameTexts(path);
    expect(header).toBe(headerText("s").length + 1);
    const [last = 0, beforeLast = 0, ...full] = frames.toReversed();
    expect(last).toBeLessThanOrEqual(LAST);
    expect(full.length).toBeGreaterThan(0);
    for (const size of full) expect(size).toBeWithin(FRAME * 0.9, FRAME + 1);
    expect(beforeLast).toBeLessThanOrEqual(FRAME);
    const bytes = bytesOf(path);
    const { ino } = statSync(path);
    expect(await compactRoot(place.root)).toEqual({
      id: "s",
      state: "unchanged",
      before: result.after,
      after: result.after,
    });
    expect([bytesOf(path).equals(bytes), statSync(path).ino]).toEqual([true, ino]);
  });

  test("takes appends in small frames behind it, and the next compaction takes those in and leaves full frames as they are", async () => {
    using place = new Place();
    const path = place.put("s", "zstd", streamedLog("zstd", MUCH));
    await compactRoot(place.root);
    const compacted = bytesOf(path);
    let texts = await textsIn(place);
    {
      await using store = await place.open();
      await using preparation = await store.prepare("s");
      await using session = preparation.publish();
      for (let n = 0; n < 3; n += 1) await session.log.append({ type: "session/title", data: { n } });
    }
    const appended = await textsIn(place);
    expect(appended.slice(0, texts.length)).toEqual([...texts]);
    texts = appended;
    expect(bytesOf(path).subarray(0, compacted.length).equals(compacted)).toBe(true);
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted", events: texts.length });
    expect(await textsIn(place)).toEqual(texts);
    const first = frameTexts(path)[1] ?? 0;
    expect(first).toBeGreaterThan(FRAME * 0.9);
    // The header and the first full frame.
    const kept = compacted.length / 3;
    expect(bytesOf(path).subarray(0, kept).equals(compacted.subarray(0, kept))).toBe(true);
    expect(await compactRoot(place.root)).toMatchObject({ state: "unchanged" });
  });

  test("is what it is however its events were batched: in one frame, or each alone in frames that do not say their size", async () => {
    const batches = streamedBatches(MUCH);
    const results: Buffer[] = [];
    for (const [pieces, compress] of [
      [batches, frameOf],
      [[batches.flat()], frameOf],
      [batches.flat().map((text) => [text]), (text: string) => rawFrame([text]).bytes],
    ] as const) {
      using place = new Place();
      const path = place.put("s", "zstd", buildLog("s", "zstd", pieces, compress).bytes);
      await compactRoot(place.root);
      results.push(bytesOf(path));
      expect(await compactRoot(place.root)).toMatchObject({ state: "unchanged" });
    }
    expect(results.map((bytes) => bytes.equals(results[0] ?? Buffer.alloc(0)))).toEqual([true, true, true]);
  });

  test("is taken back into frames as a copy writes them, and nothing is lost on the way", async () => {
    using place = new Place();
    const path = place.put("s", "zstd", streamedLog("zstd", MUCH));
    const texts = await textsIn(place);
    await compactRoot(place.root);
    const compacted = bytesOf(path);
    await using compactor = await compactJsonl(place.root, { dryRun: false });
    expect(await compactor.expand("s")).toMatchObject({ state: "expanded", events: texts.length });
    expect(Math.max(...frameTexts(path))).toBeLessThanOrEqual(LAST);
    expect(await textsIn(place)).toEqual(texts);
    expect(await compactor.expand("s")).toMatchObject({ state: "unchanged" });
    expect(await compactor.compact("s")).toMatchObject({ state: "compacted" });
    expect(bytesOf(path).equals(compacted)).toBe(true);
  });

  test("gives an event that is larger than a frame one of its own", async () => {
    using place = new Place();
    const big = titleText(1, "x".repeat(2 * FRAME));
    const batches = [[titleText(0)], [big], [titleText(2)], [titleText(3)]];
    const path = place.put("s", "zstd", buildLog("s", "zstd", batches).bytes);
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted" });
    expect(
      frameTexts(path)
        .slice(1)
        .map((size) => size > FRAME),
    ).toEqual([false, true, false]);
    expect(await textsIn(place)).toEqual(batches.flat());
    expect(await compactRoot(place.root)).toMatchObject({ state: "unchanged" });
  });
});

test("a plain log stays plain, and only its runs are merged", async () => {
  using place = new Place();
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  const log = buildLog("s", "none", [
    [runText(0, ["a", "b", "c"])],
    [runText(3, ["d", "e", "f"])],
    [titleText(6)],
  ]);
  const path = place.put("s", "none", Buffer.concat([mark, log.bytes]));
  const texts = await textsIn(place);
  expect(await compactRoot(place.root)).toMatchObject({ state: "compacted", events: 7 });
  const lines = bytesOf(path).toString().split("\n");
  expect(lines).toEqual([
    `\ufeff${headerText("s")}`,
    runText(0, ["a", "b", "c", "d", "e", "f"]),
    titleText(6),
    "",
  ]);
  expect(await textsIn(place)).toEqual(texts);
  const { mtimeMs } = statSync(path);
  expect(await compactRoot(place.root)).toMatchObject({ state: "unchanged" });
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
});

describe.each(ENCODINGS)("compacting a log, encoding %s", (encoding) => {
  const ODD = [
    '{"type":"future/thing","seq":0,"time":1,"data":{"id":1234567890123456789,"b":1,"a":"\\ud800"},"ignorable":true}',
    '{"type":"new/unknown","seq":1,"time":2, "data":{"x":"\\u0041\\/"}}',
    '{"type":"turn/start","seq":2,"time":3,"data":{"turn":1,"trigger":"user"},"more":[1.0,1e2]}',
    '{"data":{"n":"\u2028\u0085\\r"},"time":4,"seq":3,"type":"session/title"}',
  ];

  test("keeps every text byte for byte: unknown fields and types, long integers, half characters, older shapes", async () => {
    using place = new Place();
    const header = headerText("s", { more: { n: 1234567890123456789n.toString() }, createdAt: 5 }).replace(
      '"createdAt":5',
      '"createdAt":5 ,"big":12345678901234567890',
    );
    const runs = Array.from({ length: 6 }, (_, k) => runText(4 + 3 * k, ["a", "b", "c"]));
    const parts = [[header], ...ODD.map((text) => [text]), ...runs.map((text) => [text])];
    const path = place.put("s", encoding, Buffer.concat(parts.map((texts) => encodeBatch(texts, encoding))));
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted", events: 22 });
    const bytes = bytesOf(path);
    const content = encoding === "zstd" ? Buffer.from(Bun.zstdDecompressSync(bytes)) : bytes;
    expect(content.toString().split("\n").slice(0, 5)).toEqual([header, ...ODD]);
  });

  test("keeps the owner's permissions, works where a link leads, and leaves nothing beside it", async () => {
    using place = new Place();
    const link = place.put("s", encoding, streamedLog(encoding, 30_000));
    const real = join(place.folder, "elsewhere", "a.log");
    mkdirSync(dirname(real));
    renameSync(link, real);
    symlinkSync("../../../elsewhere/a.log", link);
    chmodSync(real, 0o640);
    // Of the old log.
    writeFileSync(`${link}.holdfast-index`, "{}");
    expect(await compactRoot(place.root)).toMatchObject({ state: "compacted" });
    expect([lstatSync(link).isSymbolicLink(), statSync(real).mode & 0o777]).toEqual([true, 0o640]);
    expect([readdirSync(dirname(real)), readdirSync(dirname(link)).length]).toEqual([["a.log"], 1]);
  });

  test("in a dry run says the same, takes no lock and changes neither a byte nor a time", async () => {
    await using folder = await TempFolder.create();
    const place = new Place(folder.path, "root");
    place.put("s", encoding, streamedLog(encoding, 30_000));
    await using _ = await place.open();
    const before = await folderState(folder.path);
    await using compactor = await compactJsonl(place.root, { dryRun: true });
    const said = await compactor.compact("s");
    expect(said).toMatchObject({ state: "compacted" });
    const sizes = await compactor.finish();
    expect(await folderState(folder.path)).toEqual(before);
    expect(await outcomesOf([compactRoot(place.root)])).toEqual(["locked"]);
    await _.close();
    await using real = await compactJsonl(place.root, { dryRun: false });
    expect(await real.compact("s")).toEqual(said);
    expect(await real.finish()).toEqual(sizes);
  });

  test("refuses what cannot be read whole, says why, and changes not one byte; the others are compacted", async () => {
    using place = new Place();
    const bytes = streamedLog(encoding, 30_000);
    place.put("s", encoding, bytes);
    place.put("torn", encoding, buildLog("torn", encoding, [[titleText(0)]]).bytes.subarray(0, -3));
    const gap = buildLog("gap", encoding, [[titleText(0)], [titleText(2)], [titleText(3)]]);
    place.put("gap", encoding, gap.bytes);
    place.put("other", encoding, bytes);
    place.put("later", encoding, encodeBatch([headerText("later", { version: 1 })], encoding));
    place.put("twice", encoding, buildLog("twice", encoding, [[titleText(0)]]).bytes);
    place.put("twice", encoding, buildLog("twice", encoding, [[titleText(0)]]).bytes, "--q--");
    place.file(join(place.root, "--p--", "new", "session.v3.jsonl"), "new");
    place.put("empty", encoding, encodeBatch([headerText("empty")], encoding));
    const before = place.contents();
    await using compactor = await compactJsonl(place.root, { dryRun: false });
    const results = [];
    for (const id of ["torn", "gap", "other", "later", "twice", "new", "empty", "s"]) {
      const result = await compactor.compact(id);
      results.push([id, result.state, result.state === "refused" ? result.error.code : ""]);
    }
    expect(results).toEqual([
      ["torn", "refused", "corrupt"],
      ["gap", "refused", "corrupt"],
      ["other", "refused", "corrupt"],
      ["later", "refused", "unsupported-format"],
      ["twice", "refused", "storage-failed"],
      ["new", "refused", "unsupported-format"],
      ["empty", "unchanged", ""],
      ["s", "compacted", ""],
    ]);
    expect(await outcomesOf([compactor.compact("nobody")])).toEqual(["not-found"]);
    const name = `--p--/s/session.jsonl${encoding === "zstd" ? ".zstd" : ""}`;
    const { [name]: old, ...others } = before;
    const { [name]: compacted, ...left } = place.contents();
    expect([left, compacted === old]).toEqual([others, false]);
  });

  test("leaves the log that another program writes to meanwhile", async () => {
    using place = new Place();
    const path = place.put("s", encoding, streamedLog(encoding, 30_000));
    const more = encodeBatch([titleText(1_000)], encoding);
    await using compactor = await compactJsonl(place.root, { dryRun: false });
    let isWritten = false;
    const onProgress = () => {
      if (!isWritten) appendFileSync(path, more);
      isWritten = true;
    };
    expect(await outcomesOf([compactor.compact("s", { onProgress })])).toEqual(["storage-failed"]);
    expect(bytesOf(path).subarray(-more.length).equals(more)).toBe(true);
    expect(readdirSync(dirname(path)).length).toBe(1);
  });

  test("stops when it is told to, and leaves the log as it was", async () => {
    using place = new Place();
    const path = place.put("s", encoding, streamedLog(encoding, 300_000));
    const bytes = bytesOf(path);
    const stop = new AbortController();
    await using compactor = await compactJsonl(place.root, { dryRun: false });
    let last = 0;
    const onProgress = (share: number) => {
      expect(share).toBeWithin(last, 1.01);
      last = share;
      if (share > 0.7) stop.abort("enough");
    };
    const work = compactor.compact("s", { signal: stop.signal, onProgress });
    expect(await work.catch((reason: unknown) => reason)).toBe("enough");
    expect([bytesOf(path).equals(bytes), readdirSync(dirname(path)).length]).toEqual([true, 1]);
  });
});
