import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { planJsonlRepair, repairJsonl } from "../../../src/store/jsonl/repairer.ts";
import { titleAt } from "../../contract/support.ts";
import { BATCHES, kindsOf, TEXTS } from "./damage-kinds.ts";
import { examineRoot } from "./examining.ts";
import { buildLog } from "./log-bytes.ts";
import { ENCODINGS, LOG_NAMES, Place, readLog } from "./place.ts";
import {
  bytesOf,
  codesIn,
  coveredBytes,
  ordinaryReading,
  piecesOf,
  recordsIn,
  repairRoot,
} from "./repaired.ts";

describe.each(ENCODINGS)("a repair, encoding %s", (encoding) => {
  test.each(kindsOf(encoding))("of $name", async (kind) => {
    using place = new Place();
    const parts = kind.parts(encoding);
    const original = Buffer.concat(parts);
    const path = place.put("s", encoding, original);
    const before = await ordinaryReading(place, "s");
    const { mode } = statSync(path);

    expect(await codesIn(place.root)).toEqual([...kind.codes]);
    const { steps, helpless } = await repairRoot(place.root);

    expect(helpless).toEqual([]);
    expect(steps).toEqual([
      {
        kind: "session",
        id: "s",
        location: path,
        reason: expect.objectContaining({ code: kind.codes[0] }),
        keptEvents: kind.keptEvents,
        cut: { bytes: expect.any(Number), rows: 0, events: kind.cutEvents },
        closers: kind.closers,
        header: kind.header ?? "kept",
        backup: `${path}.backup-1`,
        quarantine: `${path}.quarantine-1`,
      },
    ]);
    const [step] = steps;
    if (step === undefined) throw new Error("no step");
    const from = Buffer.concat(parts.slice(0, kind.at)).length;
    const to = from + (parts[kind.at]?.length ?? 0);
    expect(step.reason.place.offset).toBeWithin(from, to + 1);
    expect(bytesOf(step.backup).equals(original)).toBe(true);
    const pieces = piecesOf(step.quarantine);
    expect(coveredBytes(pieces, original, encoding === "zstd")).toBe(step.cut.bytes);
    expect(recordsIn(pieces).length).toBe(kind.cutEvents);
    expect([path, step.quarantine].map((file) => statSync(file).mode)).toEqual([mode, mode]);

    expect(await codesIn(place.root)).toEqual([]);
    const after = await ordinaryReading(place, "s");
    expect([after.fault, after.torn]).toEqual([undefined, false]);
    const texts = after.records.map(({ text }) => text);
    expect(texts.slice(0, kind.keptEvents)).toEqual(TEXTS.slice(0, kind.keptEvents));
    if (kind.header === undefined) {
      expect(before.records.map(({ text }) => text)).toEqual(texts.slice(0, kind.keptEvents));
    }
    await using store = await place.open();
    const { log } = await store.load("s");
    expect(log.length).toBe(kind.keptEvents + kind.closers);
    await store.append("s", [titleAt(log.length)]);
    expect(await readLog(store, "s")).toMatchObject({ torn: false, texts: { length: log.length + 1 } });
  });

  test("of a sound log is nothing, and leaves every byte as it is", async () => {
    using place = new Place();
    place.put("s", encoding, buildLog("s", encoding, BATCHES).bytes);
    place.put("header-only", encoding, buildLog("header-only", encoding, []).bytes);
    const before = place.contents();
    expect(await repairRoot(place.root)).toEqual({ steps: [], helpless: [] });
    expect(place.contents()).toEqual(before);
  });

  test("of a log that lies in its project's folder puts all it makes beside it, and leaves no draft", async () => {
    using place = new Place();
    const { bytes, offsets } = buildLog("s", encoding, BATCHES);
    const name = `s${LOG_NAMES[encoding].slice("session".length)}`;
    const path = place.file(join(place.root, "--p--", name), bytes.subarray(0, (offsets[3] ?? 0) + 9));
    place.file(join(place.root, "--p--", ".holdfast-draft-0"), "left by one that was killed");
    const { steps } = await repairRoot(place.root);
    expect(steps.map(({ location, keptEvents }) => [location, keptEvents])).toEqual([[path, 7]]);
    expect(readdirSync(dirname(path)).toSorted()).toEqual([name, `${name}.backup-1`, `${name}.quarantine-1`]);
    expect((await examineRoot(place.root)).map(({ location }) => location)).toEqual([path]);
    await using store = await place.open();
    expect((await store.load("s")).log.length).toBe(8);
  });

  test("is planned without the lock or a change, and counts what a branch of the log takes along", async () => {
    using place = new Place();
    const { bytes } = buildLog("s", encoding, [...BATCHES, ...BATCHES.slice(2)]);
    const path = place.put("s", encoding, bytes);
    const before = place.contents();
    await using store = await place.open();
    const { steps, helpless } = await planJsonlRepair(place.root);
    expect(helpless).toEqual([]);
    expect(steps).toMatchObject([
      { keptEvents: 8, cut: { events: 4 }, closers: 0, reason: { code: "events-repeated" } },
    ]);
    await store.close();
    expect(place.contents()).toEqual(before);
    expect(existsSync(`${path}.backup-1`)).toBe(false);
  });

  test("numbers what it leaves after what is there, and takes the index of the log away", async () => {
    using place = new Place();
    const { bytes } = buildLog("s", encoding, BATCHES);
    const torn = bytes.subarray(0, -3);
    const path = place.put("s", encoding, torn);
    await repairRoot(place.root);
    place.put("s", encoding, Buffer.concat([torn, Buffer.from("x")]));
    // Somebody needed the space: what was set aside is not taken for a left-over.
    place.file(`${path}.quarantine-2`, "of a repair whose backup is gone");
    place.file(`${path}.holdfast-index`, "old");
    const { steps } = await repairRoot(place.root);
    expect(steps.map(({ backup, quarantine }) => [basename(backup), basename(quarantine)])).toEqual([
      [`${LOG_NAMES[encoding]}.backup-3`, `${LOG_NAMES[encoding]}.quarantine-3`],
    ]);
    expect(existsSync(`${path}.holdfast-index`)).toBe(false);
  });

  test("does only what was asked for, and one step without the others", async () => {
    using place = new Place();
    for (const id of ["a", "b", "c"])
      place.put(id, encoding, buildLog(id, encoding, BATCHES).bytes.subarray(0, -2));
    expect((await planJsonlRepair(place.root, { ids: ["b", "c", "nobody"] })).steps).toMatchObject([
      { id: "b" },
      { id: "c" },
    ]);
    await using repairer = await repairJsonl(place.root);
    const { steps } = await repairer.plan();
    const [, second] = steps;
    const shares: number[] = [];
    if (second !== undefined) await repairer.carryOut(second, { onProgress: (share) => shares.push(share) });
    expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
    expect((await repairer.plan()).steps).toMatchObject([{ id: "a" }, { id: "c" }]);
  });
});
