import { expect, test } from "bun:test";
import { cacheFolder } from "../../src/host/cache-folder.ts";

test("caches lie where the system wants them, and nowhere for a path that is not absolute", () => {
  const on = (platform: NodeJS.Platform, env: Record<string, string> = {}, home = "/home/x") =>
    cacheFolder({ platform, env, home });
  expect(on("linux")).toBe("/home/x/.cache/holdfast");
  expect(on("darwin")).toBe("/home/x/Library/Caches/holdfast");
  expect(on("linux", { XDG_CACHE_HOME: "/var/tmp/x" })).toBe("/var/tmp/x/holdfast");
  for (const odd of ["", "caches"])
    expect(on("linux", { XDG_CACHE_HOME: odd })).toBe("/home/x/.cache/holdfast");
  expect(on("linux", {}, "")).toBeUndefined();
  expect(on("win32", { LOCALAPPDATA: "/x/Local" })).toBe("/x/Local/holdfast");
  expect(on("win32")).toBeUndefined();
});
