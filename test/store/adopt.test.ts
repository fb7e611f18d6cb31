import { describe, expect, test } from "bun:test";
import { chmodSync, linkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { SYSTEM } from "../../src/store/file-system.ts";
import { AS_NOBODY } from "../fixtures/nobody.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const isWindows = process.platform === "win32";

describe.skipIf(isWindows)("a file that adopts another's owner (skipped on Windows)", () => {
  test("gets the permission bits of the other, and no more than those", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("own");
    for (const mode of [0o600, 0o640, 0o644, 0o400]) {
      writeFileSync(path, "");
      SYSTEM.adopt(path, { ...statSync(path), mode: 0o104000 | mode });
      expect(statSync(path).mode & 0o7777).toBe(mode);
      chmodSync(path, 0o600);
    }
  });

  test("is the file itself: a link in its place is refused, and one with a second name stays as it is", async () => {
    await using folder = await TempFolder.create();
    const [path, link, second] = [folder.at("own"), folder.at("link"), folder.at("second")];
    writeFileSync(path, "", { mode: 0o600 });
    symlinkSync(path, link);
    expect(() => SYSTEM.adopt(link, { ...statSync(path), mode: 0o644 })).toThrow("ELOOP");
    linkSync(path, second);
    SYSTEM.adopt(path, { ...statSync(path), mode: 0o644 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.skipIf(AS_NOBODY === undefined)(
    "is the other's owner's, where root does it (skipped without root)",
    async () => {
      await using folder = await TempFolder.create();
      const path = folder.at("own");
      writeFileSync(path, "", { mode: 0o600 });
      SYSTEM.adopt(path, { uid: 1234, gid: 1235, mode: 0o640 });
      const { uid, gid, mode } = statSync(path);
      expect([uid, gid, mode & 0o777]).toEqual([1234, 1235, 0o640]);
    },
  );
});
