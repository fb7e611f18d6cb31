import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { SYSTEM } from "../../../src/store/file-system.ts";
import { rejectionOf } from "../../contract/support.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";
import { Place } from "../sqlite/place.ts";
import { codesOf, examine } from "./examining.ts";

describe("the measure", () => {
  /** Tells times that go on by so much with every look. */
  function clock(step: number): () => number {
    let time = 0;
    return () => (time += step);
  }

  test.each([
    ["a sync that takes no time is none", 0.001, 20, "sync-not-real"],
    ["a slow sync is reported, and not asked for often", 300, 3, "sync-slow"],
    ["what a disk takes is fine", 0.5, 20, "durable"],
  ])("%s", async (_, step, count, code) => {
    await using folder = await TempFolder.create();
    const health = await examine(`jsonl:${folder.path}`, { now: clock(step) });
    const isMemory = health.findings.some((found) => found.code === "memory-file-system");
    expect(health.sync).toMatchObject({ count, p50: expect.closeTo(step, 6) });
    if (!isMemory) expect(health.findings.map((found): string => found.code)).toContain(code);
  });

  test.each([
    ["ENOSPC", "storage-full"],
    ["EIO", "storage-failed"],
  ])("that fails with %s is a problem, and leaves nothing", async (error, code) => {
    for (const operation of ["makeFolder", "create", "write", "fdatasync"] as const) {
      using place = new Place();
      const fail = () => {
        throw Object.assign(new Error(`${error}: injected`), { code: error });
      };
      expect(await codesOf(place.path, { system: { ...SYSTEM, [operation]: fail } })).toContain(code);
      expect(readdirSync(place.folder)).toEqual([]);
    }
  });

  test("stops between two syncs, and leaves nothing", async () => {
    using place = new Place();
    const stop = new AbortController();
    const system = {
      ...SYSTEM,
      fdatasync: (file: number) => {
        SYSTEM.fdatasync(file);
        stop.abort();
      },
    };
    expect(await rejectionOf(examine(place.path, { system, signal: stop.signal }))).toBe(stop.signal.reason);
    expect(readdirSync(place.folder)).toEqual([]);
  });
});
