import { describe, expect, test } from "bun:test";
import {
  judgeMedium,
  lookAtMedium,
  type MediumReport,
  nearestFolder,
} from "../../../src/store/health/medium.ts";
import { TempFolder } from "../../fixtures/temp-folder.ts";

const MIB = 1024 * 1024;

async function judged(
  changes: Partial<MediumReport>,
  kind: "sqlite" | "jsonl" = "sqlite",
  copyBytes = 0,
): Promise<string[]> {
  await using folder = await TempFolder.create();
  const disk = {
    folder: folder.path,
    type: "ext4",
    magic: 0xef53,
    network: false,
    readOnly: false,
    options: ["rw"],
    freeBytes: 1_000 * MIB,
    totalBytes: 2_000 * MIB,
  };
  const findings = judgeMedium({ ...disk, ...changes }, { kind, copyBytes });
  for (const { level, hint } of findings) if (level !== "ok") expect(hint).toBeString();
  return findings.map(({ code }) => code);
}

describe("what a store lies on", () => {
  test("is found at the nearest folder that is there", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(folder.at("file"), "x");
    for (const name of ["", "a", "a/b/c", "file", "file/x"]) {
      expect(nearestFolder(folder.at(name))).toBe(folder.path);
    }
    const medium = lookAtMedium(folder.path, undefined);
    expect(medium.totalBytes).toBeGreaterThan(medium.freeBytes);
    expect(medium.freeBytes).toBeGreaterThan(0);
  });

  test.each<readonly [string, Partial<MediumReport>, readonly string[]]>([
    ["a disk", {}, ["enough-space"]],
    ["memory", { type: "tmpfs" }, ["memory-file-system", "enough-space"]],
    ["the layer of a container", { type: "overlay" }, ["container-layer", "enough-space"]],
    ["another machine", { type: "fuse.sshfs", network: true }, ["network-locks", "enough-space"]],
    ["a mount without barriers", { options: ["rw", "barrier=0"] }, ["no-barriers", "enough-space"]],
    ["a read-only mount", { readOnly: true }, ["not-writable", "enough-space"]],
    ["a full disk", { freeBytes: MIB - 1 }, ["storage-full"]],
    ["a disk that is nearly full", { freeBytes: 64 * MIB - 1 }, ["space-low"]],
    ["one that does not tell its size", { freeBytes: 0, totalBytes: 0 }, []],
  ])("is judged: %s", async (_, changes, codes) => {
    for (const kind of ["sqlite", "jsonl"] as const) expect(await judged(changes, kind)).toEqual([...codes]);
  });

  test("keeps a database from another machine's disk, and warns of logs there", async () => {
    const nfs = { type: "nfs4", magic: 0x6969, network: true };
    expect(await judged(nfs, "sqlite")).toEqual(["network-file-system", "enough-space"]);
    expect(await judged(nfs, "jsonl")).toEqual(["network-locks", "enough-space"]);
  });

  test("has enough space when a copy of the store fits too", async () => {
    expect(await judged({ freeBytes: 164 * MIB - 1 }, "sqlite", 100 * MIB)).toEqual(["space-low"]);
    expect(await judged({ freeBytes: 164 * MIB }, "sqlite", 100 * MIB)).toEqual(["enough-space"]);
  });
});
