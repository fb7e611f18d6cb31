import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { runHoldfast } from "../fixtures/executable.ts";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import {
  FEW_STORES,
  type FewStore,
  fewSessions,
  listed,
  plantTurns,
  sessions,
} from "../fixtures/few-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const IDS = ["a", "b", "c"];
const [DATABASE, LOGS] = FEW_STORES;

/** Where the process is killed: in the middle of the second session, or right behind it. */
const KILLS: ReadonlyArray<
  readonly [string, string, FewStore, readonly string[], Pick<Fault, "on" | "at" | "name">]
> = [
  ["a database", "the trash", DATABASE, [], { on: "rename", at: 2 }],
  ["session logs", "the trash", LOGS, [], { on: "rename", at: 2 }],
  // The first sync of a write-ahead log is that of its beginning.
  ["a database", "nowhere", DATABASE, ["--purge"], { on: "sync", at: 3, name: "-wal" }],
  ["session logs", "nowhere", LOGS, ["--purge"], { on: "unlink", at: 2, name: "session.jsonl.zstd" }],
];

describe.skipIf(SHIM === undefined)("sessions delete that is killed (needs a C compiler on Linux)", () => {
  test.each(KILLS)("from %s to %s does the rest when it is run again", async (_, __, kind, flags, fault) => {
    const [, store] = kind;
    await using folder = await fewSessions(kind, async (open) => {
      for (const id of IDS) await plantTurns(open, id);
    });
    const args = ["delete", store, ...IDS, "--yes", ...flags];
    const env = faultEnvironment({ below: folder.path, action: "kill-after", ...fault });
    expect(await runHoldfast(["sessions", ...args], { cwd: folder.path, env })).toMatchObject({
      code: undefined,
      stdout: expect.stringContaining("\ndeleted a: "),
    });
    const left = await listed(folder, store);
    expect(left).toContain("c ok 3");
    expect(left).not.toContain("a ok 3");
    // Of a slip there is no trace: nothing is deleted.
    expect(await sessions(folder, ...args, "typo")).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/^missing typo\nalready gone a: /),
    });
    expect(await listed(folder, store)).toEqual(left);
    const again = await sessions(folder, ...args);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toContain("already gone a: ");
    expect(again.stdout).toContain("\ndeleted c: ");
    expect(await listed(folder, store)).toEqual([]);
    expect((await sessions(folder, ...args)).code).toBe(3);
    const trash = folder.at(`${store}.trash`);
    expect(existsSync(trash)).toBe(flags.length === 0);
    if (flags.length > 0) return;
    const roots = [...new Bun.Glob("*").scanSync({ cwd: trash, onlyFiles: false, absolute: true })];
    expect(roots).toHaveLength(2);
    const kept = await Promise.all(
      roots.map((root) => listed(folder, `${basename(trash)}/${basename(root)}`)),
    );
    expect([...new Set(kept.flat())].sort()).toEqual(IDS.map((id) => `${id} ok 3`));
  });
});
