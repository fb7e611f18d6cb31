import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { cleanEnvironment, executablePath } from "../fixtures/executable.ts";
import { FEW_STORES, fewSessions, plantTurns, sessions } from "../fixtures/few-sessions.ts";
import { plant, recordsOfDrafts } from "../fixtures/stored-sessions.ts";
import type { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

/**
 * A root of session logs: one small, one that takes its time, and one that will be deleted before its turn comes, in the
 * order of their age and in that of `copy`, which is from the last name to the first.
 */
function threeLogs(): Promise<TempFolder> {
  return fewSessions(FEW_STORES[2], async (open) => {
    await plantTurns(open, "small", { time: 1_600_000_000_000 });
    const texts = Array.from({ length: 300 }, (_, k) => `${k} `.repeat(4_000));
    const drafts = texts.flatMap((text, k) => [turnStart(k + 1), userMessage(text, `${k}`), turnEnd(k + 1)]);
    await plant(open, "long", recordsOfDrafts(drafts), { createdAt: 1_650_000_000_000 });
    await plantTurns(open, "doomed");
  });
}

/** Runs a command, and deletes the session `doomed` with the first text that it prints. */
async function deletedMeanwhile(folder: TempFolder, ...args: readonly string[]) {
  await using child = Bun.spawn([executablePath(), "sessions", ...args], {
    cwd: folder.path,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const errors = child.stderr.text();
  let stdout = "";
  for await (const piece of child.stdout) {
    if (stdout === "") {
      child.kill("SIGSTOP");
      rmSync(folder.at("logs/--srv-x--/doomed"), { recursive: true });
      child.kill("SIGCONT");
    }
    stdout += new TextDecoder().decode(piece);
  }
  return { code: await child.exited, stdout, stderr: await errors };
}

const NOTE = "holdfast: 1 session was deleted meanwhile, and left out\n";

describe.skipIf(process.platform === "win32")("a session that is deleted before its turn comes", () => {
  test("is none of all that are copied", async () => {
    await using folder = await threeLogs();
    const copied = await deletedMeanwhile(folder, "copy", "--all", "--from", "logs", "--to", "a.db");
    expect(copied).toMatchObject({ code: 0, stderr: NOTE });
    expect(copied.stdout).toEndWith("\n2 copied, 0 already there, 0 failed\n");
  });

  test("is none of all that are compacted", async () => {
    await using folder = await threeLogs();
    const compacted = await deletedMeanwhile(folder, "compact", "logs", "--all", "--dry-run");
    expect(compacted).toMatchObject({ code: 0, stderr: NOTE });
    expect(compacted.stdout).toMatch(/^unchanged long: .*\n2 unchanged: /m);
  });

  // In Markdown all sessions are read before the first one is written, in JSONL each one by itself.
  test.each(["md", "jsonl"])("is left out of an export of all as %s", async (format) => {
    await using folder = await threeLogs();
    const exported = await deletedMeanwhile(folder, "export", "--all", "logs", "--format", format);
    expect(exported).toMatchObject({ code: 0, stderr: NOTE });
    expect(exported.stdout).toContain("299 299 ");
  });
});

test("a session that is named and is not there is not copied, which stderr says as well", async () => {
  await using folder = await fewSessions(FEW_STORES[2], (open) => plantTurns(open, "a"));
  const { stderr, code } = await sessions(folder, "copy", "none", "a", "--from", "logs", "--to", "b.db");
  expect({ code, stderr }).toEqual({ code: 3, stderr: "holdfast: none was not copied\n" });
});
