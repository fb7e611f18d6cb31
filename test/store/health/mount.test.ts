import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  isMemoryMount,
  isNetworkMount,
  isReadOnlyMount,
  mountOf,
  weakSyncOption,
} from "../../../src/store/health/mount.ts";

/** A line of the table as Linux writes it. */
function line(point: string, type: string, options = "rw,relatime", superOptions = "rw"): string {
  const escaped = point.replace(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `36 35 98:0 / ${escaped} ${options} shared:1 master:2 - ${type} /dev/root ${superOptions}`;
}

describe("the mount of a folder", () => {
  const table = [
    line("/", "ext4"),
    line("/data", "xfs", "rw", "rw,nobarrier"),
    line("/data/my store\\x", "nfs4", "ro,noatime"),
    line("/data", "btrfs"),
    "half a line",
    "",
  ].join("\n");

  test.each([
    ["/", "ext4"],
    ["/home/me", "ext4"],
    ["/database", "ext4"],
    ["/data", "btrfs"],
    ["/data/x", "btrfs"],
    ["/data/my store\\x", "nfs4"],
    ["/data/my store\\x/deep/er", "nfs4"],
    ["/data/my store\\xy", "btrfs"],
  ])("%s is the deepest one above it, and the last of several", (folder, type) => {
    expect(mountOf(folder, table)?.type).toBe(type);
  });

  test("is the longest of all that contain it, in whatever order they stand", () => {
    const name = fc.constantFrom("a", "b", "a b", "ab");
    const path = fc.array(name, { maxLength: 4 }).map((names) => `/${names.join("/")}`);
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 8 }), path, (points, folder) => {
        const found = mountOf(
          folder,
          points.map((point) => line(point, `fs:${point.replaceAll(" ", "_")}`)).join("\n"),
        );
        const above = points.filter((point) => point === "/" || `${folder}/`.startsWith(`${point}/`));
        const deepest = above.toSorted((a, b) => b.length - a.length)[0];
        expect(found?.type).toBe(deepest === undefined ? undefined : `fs:${deepest.replaceAll(" ", "_")}`);
      }),
    );
  });

  test("is read-only, or weak in its syncs, by its own options or by those of its file system", () => {
    const readOnly = [mountOf("/data/my store\\x", table), mountOf("/data", table)];
    expect(readOnly.map((mount) => mount !== undefined && isReadOnlyMount(mount))).toEqual([true, false]);
    const weak = (options: string, superOptions: string) => {
      const mount = mountOf("/", line("/", "ext4", options, superOptions));
      return mount === undefined ? "none" : weakSyncOption(mount);
    };
    expect(weak("rw", "rw,barrier=0,data=ordered")).toBe("barrier=0");
    expect(weak("rw,nobarrier", "rw")).toBe("nobarrier");
    expect(weak("rw,relatime", "rw,barrier=1")).toBeUndefined();
  });
});

test.each([
  ["network", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "fuse.s3fs", "lustre", "vboxsf"]],
  ["memory", ["tmpfs", "ramfs"]],
  ["disk", ["ext4", "xfs", "btrfs", "zfs", "overlay", "fuse.ntfs-3g", "fuseblk", "vfat", "9pish"]],
] as const)("file systems by where they keep their files: %s", (where, types) => {
  for (const type of types) {
    const mount = { type, options: [] };
    expect([type, isNetworkMount(mount)]).toEqual([type, where === "network"]);
    expect([type, isMemoryMount(mount)]).toEqual([type, where === "memory"]);
  }
});
