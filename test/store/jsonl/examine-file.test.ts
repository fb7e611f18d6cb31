import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { examineLogFile } from "../../../src/store/jsonl/examine-file.ts";
import { BATCHES, TEXTS } from "./damage-kinds.ts";
import { codesOf, type Examination, examination } from "./examining.ts";
import { buildLog, encodeBatch, rawFrame, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";
import { repairRoot } from "./repaired.ts";

function examineFile(place: Place, name: string, bytes: Uint8Array): Promise<Examination> {
  return examination(examineLogFile(place.file(join(place.folder, name), bytes)));
}

describe.each(ENCODINGS)("one file, encoding %s", (encoding) => {
  const { bytes, offsets } = buildLog("s", encoding, BATCHES);

  test("is read by what it holds, wherever it lies and whatever its name is", async () => {
    using place = new Place();
    for (const name of ["copy.bin", "session.jsonl", "session.jsonl.zstd", "x.jsonl.zstd.backup-2"]) {
      const { id, header, texts, findings } = await examineFile(place, name, bytes);
      expect([id, header, texts, findings]).toEqual(["s", expect.objectContaining({ cwd: "/p" }), TEXTS, []]);
    }
  });

  test("that begins in the middle has no header, which is no finding; its seqs are what they are", async () => {
    using place = new Place();
    const { id, header, texts, findings, places } = await examineFile(
      place,
      "odd.jsonl",
      bytes.subarray(offsets[1]),
    );
    expect([id, header, texts, findings]).toEqual(["odd", undefined, TEXTS.slice(2), []]);
    expect(places[0]).toMatchObject({ offset: 0, row: 1, seq: 2 });
  });

  test("that a torn tail was set aside in yields its records, and says where it ends", async () => {
    using place = new Place();
    const tail =
      encoding === "none"
        ? Buffer.from(`half of a line"}\n${titleText(8)}\n{"type":`)
        : rawFrame([`${titleText(8)}\n`, `${titleText(9, "half")}\n`]).bytes.subarray(0, -9);
    const { texts, findings } = await examineFile(place, "session.jsonl.zstd.torn-900", tail);
    expect(texts).toEqual([titleText(8)]);
    expect(codesOf({ findings })).toEqual(encoding === "none" ? ["malformed", "torn-tail"] : ["torn-tail"]);
    const lost = await examineFile(place, "session.jsonl.torn-9", Buffer.alloc(700));
    expect([lost.texts, codesOf(lost)]).toEqual([[], ["torn-tail"]]);
  });

  test("that is a damaged log is read past its header", async () => {
    using place = new Place();
    const damaged = Buffer.from(bytes);
    damaged[3] = 0;
    const { id, texts, findings } = await examineFile(place, "s/session.jsonl", damaged);
    expect([id, texts, codesOf({ findings })]).toEqual(["s", TEXTS, ["header-damaged"]]);
    const empty = await examineFile(place, "t.jsonl", Buffer.alloc(0));
    expect([empty.id, empty.texts, codesOf(empty)]).toEqual(["t", [], ["header-damaged"]]);
  });

  test("that a repair kept as a backup is the log as it was", async () => {
    using place = new Place();
    const path = place.put("s", encoding, Buffer.concat([bytes, encodeBatch([titleText(70)], encoding)]));
    const { steps } = await repairRoot(place.root);
    expect(readdirSync(dirname(path)).length).toBe(3);
    const { texts } = await examination(examineLogFile(steps[0]?.backup ?? ""));
    expect(texts).toEqual([...TEXTS, titleText(70)]);
  });
});
