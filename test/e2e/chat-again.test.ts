import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, sseReply, textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { PROMPT, TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** What is on the screen, in lines. */
function plain(text: string): string {
  return Bun.stripANSI(text).replaceAll("\r\n", "\n");
}

describe.skipIf(process.platform === "win32")("a chat that is taken up again", () => {
  test("goes on after kill -9 in the middle of a Turn, which is shown as cut off", async () => {
    await using lab = await HostLab.create(
      textReply("One \u001b[31mred."),
      sseReply([delta({ content: "Let me " }), forever()]),
      textReply("Three."),
    );
    await using first = new TerminalProcess(["chat", ...lab.args]);
    await first.sees(PROMPT);
    first.type("First\r");
    await first.sees(PROMPT);
    first.type("Second\r");
    await first.sees(/Let me /);
    first.kill("SIGKILL");
    expect(await first.exited).toEqual({ signal: "SIGKILL" });

    await using again = new TerminalProcess(["chat", ...lab.args], { columns: 300 });
    const opening = plain(await again.sees(PROMPT));
    // Whether what it said was durable by then is chance.
    const cutOff = "Assistant, cut off\n  Let me\n\n";
    const told = opening
      .replace(cutOff, "")
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "WHEN")
      .replaceAll(/ (after|tokens:).*/g, "");
    expect(told).toStartWith(
      `Session default in sqlite:${lab.store}\n/help tells of keys and commands. Ctrl-D leaves.\n\n` +
        "Turn 1, WHEN (UTC)\n\nUser\n  First\n\nAssistant\n  One \\u001b[31mred.\n\nTurn 1 ended\n\n" +
        "Turn 2, WHEN\n\nUser\n  Second\n\nTurn 2 ended: interrupted,\n\n",
    );
    // Up, and up once more: what was said last, and before.
    again.type("\u001b[A");
    await again.sees(/Second/);
    again.type("\u001b[A");
    await again.sees(/First/);
    again.type("\r");
    expect(await again.sees(PROMPT)).toContain("Three.\r\n");
    again.type("\x04");
    expect(await again.exited).toEqual({ code: 0 });
    expect(lab.server.requests.at(-1)?.json()).toMatchObject({
      messages: [
        { content: "First" },
        { content: "One \u001b[31mred." },
        { content: "Second" },
        { content: "First" },
      ],
    });
  });

  test("shows the end of a long conversation, and says how to see all of it", async () => {
    await using folder = await TempFolder.create();
    const flags = ["--session-dir", folder.at("a store"), "--session-id", "long"];
    const lines = Array.from({ length: 60 }, (_, k) => `line ${k}`).join("\n");
    const inputs = Array.from({ length: 12 }, (_, k) => `say number ${k}\n`).join("");
    const said = await runHoldfast(["chat", ...flags], { stdin: `${inputs}"""\nsay ${lines}\n"""\n` });
    expect(said).toMatchObject({ code: 0, stderr: "" });
    await using chat = new TerminalProcess(["chat", ...flags], { columns: 300 });
    const opening = plain(await chat.sees(PROMPT));
    const command = `holdfast sessions show long '${`jsonl:${folder.at("a store")}`}'`;
    expect(opening).toContain(
      `\n(25 earlier entries are not shown. All of it is shown by:)\n  ${command}\n\nTurn 13, `,
    );
    expect(opening).toContain("\n\nAssistant\n  line 0\n");
    expect(opening).toContain("\n  line 58\n  line 59\n\nTurn 13 ended");
    const all = await runCommand(["sh", "-c", `"$0" ${command.slice("holdfast ".length)}`, executablePath()]);
    expect(all.stdout).toContain("\nUser\n  say number 0\n");
    expect(all.stdout).toContain("  line 59\n");
  });
});
