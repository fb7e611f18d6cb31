import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { cleanEnvironment, executablePath, runHoldfast } from "../fixtures/executable.ts";
import { poll } from "../fixtures/poll.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

describe("a copy that is stopped in the middle of a long session", () => {
  const BIG = recordsOfDrafts(
    Array.from({ length: 3_500 }, (_, n) => ({
      type: "session/title",
      data: { n, text: `${n} `.repeat(2_000) },
    })),
  );

  test.each([
    ["SIGTERM", 143],
    ["SIGKILL", undefined],
  ] as const)("by %s is completed by the same command", async (signal, code) => {
    await using folder = await TempFolder.create();
    await withStore(folder.at("a.db"), async (store) => {
      for (let k = 0; k < BIG.length; k += 500) await plant(store, "s", BIG.slice(k, k + 500));
    });
    const args = ["sessions", "copy", "s", "--from", "a.db", "--to", "jsonl:logs"];
    const child = Bun.spawn([executablePath(), ...args], {
      cwd: folder.path,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = folder.at("logs", "--srv-x--", "s", "session.jsonl.zstd");
    await poll("the first batch", async () => (existsSync(log) ? true : undefined));
    child.kill(signal);
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    await child.exited;
    if (code === undefined) expect(child.signalCode).toBe("SIGKILL");
    else {
      expect(child.exitCode).toBe(code);
      expect(stdout).toBe("0 copied, 0 already there, 0 failed\n");
      expect(stderr).toContain("the same command goes on from here");
    }
    const again = await runHoldfast([...args, "--json"], { cwd: folder.path });
    expect(again.code).toBe(0);
    const report = JSON.parse(again.stdout);
    expect(report).toMatchObject({ state: "copied", events: BIG.length });
    expect(report.written).toBeLessThan(BIG.length);
    const [original, copied] = await Promise.all(
      ["a.db", "logs"].map((store) =>
        runHoldfast(["sessions", "show", "s", store, "--events"], { cwd: folder.path }),
      ),
    );
    expect(copied).toEqual(original);
  });
});
