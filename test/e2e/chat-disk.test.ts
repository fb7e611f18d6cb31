import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { runHoldfast } from "../fixtures/executable.ts";
import { type Fault, faultEnvironment, SHIM } from "../fixtures/fault-shim.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { poll } from "../fixtures/poll.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { PROMPT, TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** A chat on a disk on which syncs go wrong from the moment that a file is there. */
async function chatOn(lab: HostLab, action: Fault["action"]) {
  const below = dirname(lab.store);
  const [armed, tally] = [lab.folder.at("armed"), lab.folder.at("tally")];
  mkdirSync(below);
  const fault: Fault = { below, on: "sync", at: 1, times: Number.POSITIVE_INFINITY, action, armed };
  const chat = new TerminalProcess(["chat", ...lab.args], { env: faultEnvironment(fault, tally) });
  await chat.sees(PROMPT);
  writeFileSync(armed, "");
  const syncing = () => poll("a sync", async () => (await Bun.file(tally).exists()) || undefined);
  return { chat, syncing, heal: () => rmSync(armed) };
}

describe.skipIf(SHIM === undefined)("chat on a disk with faults (needs a C compiler on Linux)", () => {
  test("tells of a Turn that could not be saved, and goes on when the disk is well again", async () => {
    await using lab = await HostLab.create(textReply("Well again."));
    const { chat, heal } = await chatOn(lab, "EIO");
    await using _ = chat;
    chat.type("First\r");
    const failed = await chat.sees(PROMPT);
    expect(failed).toContain("holdfast: ");
    expect(failed).toMatch(/EIO|I\/O/i);
    expect(failed).toContain("  hint: ");
    heal();
    chat.type("Second\r");
    expect(await chat.sees(PROMPT)).toContain("Well again.\r\n");
    chat.type("\x04");
    expect(await chat.exited).toEqual({ code: 0 });
    const { stdout } = await runHoldfast(["sessions", "show", "default", lab.store]);
    expect(stdout).not.toContain("First");
    expect(stdout).toContain("\nUser\n  Second\n");
  });

  test("that hangs is not waited for at the third Ctrl-C", async () => {
    await using lab = await HostLab.create();
    const { chat, syncing } = await chatOn(lab, { slowMs: 60_000 });
    await using _ = chat;
    chat.type("First\r");
    await syncing();
    chat.type("\x03");
    chat.type("\x03");
    await chat.sees(/the Turn is being ended; Ctrl-C once more leaves without waiting\r\n/);
    chat.type("\x03");
    expect(await chat.exited).toEqual({ code: 130 });
    expect(chat.text).toEndWith("\u001b[?2004l");
  });

  test("that hangs is not waited for at the second SIGTERM, and the terminal is left as it was", async () => {
    await using lab = await HostLab.create();
    const { chat, syncing } = await chatOn(lab, { slowMs: 60_000 });
    await using _ = chat;
    chat.type("First\r");
    await syncing();
    chat.kill("SIGTERM");
    await poll("the end", async () => {
      chat.kill("SIGTERM");
      return (await Promise.race([chat.exited, undefined])) ?? undefined;
    });
    expect(await chat.exited).toEqual({ signal: "SIGTERM" });
    expect(chat.text).toEndWith("\u001b[?2004l");
  });
});
