import { expect, setDefaultTimeout, test } from "bun:test";
import { runHoldfast } from "../fixtures/executable.ts";
import { flip } from "../store/sqlite/damaged.ts";
import { HIDING, left } from "../store/sqlite/left-log.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

test("no command takes the sessions of a store for whole whose log is damaged before its last commits", async () => {
  using place = await left();
  const sessions = (...args: string[]) => runHoldfast(["sessions", ...args]);
  expect((await sessions("list", "--state", "ok,interrupted", "--json", place.path)).stdout).toContain('"a"');
  flip(`${place.path}-wal`, HIDING);
  const before = place.contents();
  const damage = "the write-ahead log is damaged, and SQLite ignores all that follows it";

  const listed = await sessions("list", "--check", "--json", place.path);
  expect(listed.code).toBe(5);
  expect(
    listed.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { id: "a", state: "corrupt", events: 61, reason: expect.stringContaining(damage) },
    { id: "b", state: "corrupt", events: 2, reason: expect.stringContaining(damage) },
  ]);
  // Nor because of what was known of them before.
  expect((await sessions("list", "--state", "corrupt", "--json", place.path)).stdout).toBe(listed.stdout);

  const shown = await sessions("show", "a", "--events", "--session-db", place.path);
  expect({ code: shown.code, lines: shown.stdout.split("\n").length }).toEqual({ code: 5, lines: 62 });
  expect(shown.stderr).toContain(damage);

  const verified = await sessions("verify", "--session-db", place.path);
  expect(verified.code).toBe(5);
  expect(verified.stdout).toContain("\nunsure a: 61 events can be read, sha256 ");
  expect(verified.stdout).toContain("\n2 sessions, 2 unsure; 1 error, 0 notes\n");

  const copied = await sessions("copy", "--all", "--from", place.path, "--to", `${place.path}.copy.db`);
  expect(copied).toMatchObject({
    code: 5,
    stdout: expect.stringContaining("0 copied, 0 already there, 2 failed"),
  });

  expect(place.contents()).toMatchObject(before);
  expect((await sessions("repair", "--session-db", place.path)).code).toBe(0);
  expect((await sessions("list", "--check", place.path)).code).toBe(0);
});
