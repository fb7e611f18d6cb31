import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, finish, sseReply, statusReply, textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { PROMPT, TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const CTRL_C = "\x03";
const CTRL_D = "\x04";

/** What was said in the session of a lab's store. */
async function shown({ store }: { readonly store: string }): Promise<string> {
  const { code, stdout } = await runHoldfast(["sessions", "show", "default", store]);
  expect(code).toBe(0);
  return stdout;
}

function hanging(text: string) {
  return sseReply([delta({ content: text }), forever()]);
}

describe.skipIf(process.platform === "win32")("chat", () => {
  test("takes inputs of one line and of several, and shows each answer", async () => {
    await using folder = await TempFolder.create();
    await using chat = new TerminalProcess(["chat"], { cwd: folder.path });
    expect(await chat.sees(PROMPT)).toStartWith(
      "Session default, in memory only: it ends with this process. --session-db PATH\r\n  keeps it.\r\n",
    );
    chat.type("say one\r");
    expect(await chat.sees(PROMPT)).toStartWith("say one\r\r\none\r\n\r\n");
    chat.type("say two\\\rthree\r");
    expect(await chat.sees(PROMPT)).toContain("three\r\r\ntwo\r\nthree\r\n\r\n");
    chat.type('"""\rsay four\r\r/exit\r"""\r');
    expect(await chat.sees(PROMPT)).toContain('"""\r\r\nfour\r\n\r\n/exit\r\n\r\n');
    chat.type("\u001b[200~say five\r// six\r\u001b[201~\r");
    expect(await chat.sees(PROMPT)).toContain("\r\r\nfive\r\n// six\r\n\r\n");
    chat.type("\r  \r//exit\r");
    expect(await chat.sees(/message 5 of our conversation/)).toContain("“exit”");
    await chat.sees(PROMPT);
    chat.type("/exit\r");
    expect(await chat.exited).toEqual({ code: 0 });
  });

  test("/help tells of keys and commands, and an unknown command of /help", async () => {
    await using folder = await TempFolder.create();
    await using chat = new TerminalProcess(["chat"], { cwd: folder.path });
    await chat.sees(PROMPT);
    chat.type("/quit\r");
    expect(await chat.sees(PROMPT)).toContain(
      "There is no command /quit\r\n  hint: /help tells of those there are, /exit leaves.",
    );
    chat.type("exit\r");
    expect(await chat.sees(PROMPT)).toContain("(“exit” was not sent: /exit or Ctrl-D leaves.");
    chat.type("/help\r");
    const help = await chat.sees(PROMPT);
    for (const line of help.split("\r\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
    for (const word of ["\\", '"""', "/exit", "Ctrl-C", "Ctrl-D"]) expect(help).toContain(word);
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
  });

  test("Ctrl-C ends the Turn, empties the line, and tells how to leave", async () => {
    await using lab = await HostLab.create(hanging("Let me "), textReply("Again."));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    await chat.sees(/Let me /);
    chat.type(CTRL_C);
    expect(await chat.sees(PROMPT)).toStartWith("\r\n[stopped]\r\n\r\n");
    chat.type(`"""\rhalf${CTRL_C}`);
    expect(await chat.sees(/\^C\r\n/)).not.toContain("leaves");
    await chat.sees(PROMPT);
    chat.type(CTRL_C);
    expect(await chat.sees(PROMPT)).toContain("(Ctrl-D or /exit leaves)");
    chat.type("Second\r");
    expect(await chat.sees(PROMPT)).toContain("Again.\r\n");
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
    const transcript = await shown(lab);
    expect(transcript).toContain("Let me\n\nTurn 1 ended: aborted by user");
    expect(transcript).toContain("\nUser\n  Second\n");
  });

  test("Ctrl-C that comes together with Enter ends the Turn before it begins", async () => {
    await using lab = await HostLab.create(textReply("Again."));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type(`First\r${CTRL_C}`);
    expect(await chat.sees(PROMPT)).toEndWith("First\r\r\n[stopped]\r\n\r\n\u001b[1G\u001b[0J> \u001b[3G");
    chat.type("Second\r");
    expect(await chat.sees(PROMPT)).toContain("Again.\r\n");
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
    expect(await shown(lab)).not.toContain("First");
  });

  test("takes what is pasted as text, whatever keys its characters would be", async () => {
    await using lab = await HostLab.create(textReply("Yes."));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type(`\u001b[200~one\r${CTRL_D}two${CTRL_C}\t\u0015\u001b[31mé\u001b[201~`);
    chat.type("\r");
    await chat.sees(/Yes\./);
    expect(lab.server.requests[0]?.json()).toMatchObject({ messages: [{ content: "one\ntwo\t[31mé" }] });
    await chat.sees(PROMPT);
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
  });

  test("sends no escape sequence to a dumb terminal", async () => {
    await using folder = await TempFolder.create();
    await using chat = new TerminalProcess(["chat"], { cwd: folder.path, env: { TERM: "dumb" } });
    await chat.sees(/> $/);
    chat.type("say one\r");
    await chat.sees(/\none\r\n\r\n> $/);
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
    expect(chat.text).not.toContain("\u001b");
  });

  test("Ctrl-D leaves in the middle of a Turn, which ends as cancelled", async () => {
    await using lab = await HostLab.create(hanging("Let me "));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    await chat.sees(/Let me /);
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
    expect(await shown(lab)).toContain("Turn 1 ended: aborted by user");
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends the Turn, frees the store, and gives the terminal back", async (signal, code) => {
    await using lab = await HostLab.create(hanging("Let me "));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    await chat.sees(/Let me /);
    chat.kill(signal);
    expect(await chat.exited).toEqual({ code });
    expect(chat.text).toEndWith("\u001b[?2004l");
    expect(await shown(lab)).toContain("Turn 1 ended: aborted by user");
    await using next = new TerminalProcess(["chat", ...lab.args]);
    await next.sees(PROMPT);
    next.kill(signal);
    expect(await next.exited).toEqual({ code });
  });

  test("ends in order when its window is closed in the middle of a Turn", async () => {
    await using lab = await HostLab.create(hanging("Let me "));
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    await chat.sees(/Let me /);
    chat.close();
    // As if the person had left, or by SIGHUP: both come at the same time.
    const ending = await chat.exited;
    expect([0, 129]).toContain("code" in ending ? ending.code : Number.NaN);
    expect(await shown(lab)).toContain("Turn 1 ended: aborted by user");
  });

  test("keeps what is typed while a Turn runs for the next prompt", async () => {
    const gate = Promise.withResolvers<void>();
    await using lab = await HostLab.create(
      sseReply([delta({ content: "Well, " }), gate.promise, delta({ content: "yes." }), finish("stop")]),
      textReply("Two."),
      textReply("Three."),
    );
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    await chat.sees(/Well, /);
    chat.type("Second\rThi");
    gate.resolve();
    // Whether it arrives before the end of the answer or just behind, the same is seen.
    const seen = Bun.stripANSI(await chat.sees(/Two\.\r\n/)).replaceAll("\r", "");
    expect(seen).toStartWith("yes.\n\n> Second\n");
    await chat.sees(/Thi/);
    chat.type("rd\r");
    await chat.sees(/Three\./);
    await chat.sees(PROMPT);
    chat.type(CTRL_D);
    expect(await chat.exited).toEqual({ code: 0 });
    expect(await shown(lab)).toContain("\nUser\n  Third\n");
  });

  test("says what a Turn failed of, and goes on", async () => {
    await using lab = await HostLab.create(
      statusReply(401, { error: { message: "wrong key" } }),
      sseReply([delta({ content: "As far as " }), finish("length")]),
      textReply("Fine."),
    );
    await using chat = new TerminalProcess(["chat", ...lab.args]);
    await chat.sees(PROMPT);
    chat.type("First\r");
    const failed = await chat.sees(PROMPT);
    expect(failed).toContain("holdfast: The provider refused the API key");
    expect(failed).toContain("\r\n  hint: ");
    chat.type("Second\r");
    expect(await chat.sees(PROMPT)).toContain(
      "As far as \r\n\r\nholdfast: the Turn ended early: max-tokens\r\n",
    );
    chat.type("Third\r");
    expect(await chat.sees(PROMPT)).toContain("Fine.\r\n");
  });
});
