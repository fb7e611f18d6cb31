import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, finish, sseReply, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** The flags of a Turn on a Host, or on the store itself. */
async function flagsFor(lab: HostLab, kind: "a Host" | "a store"): Promise<string[]> {
  return kind === "a store" ? lab.args : ["--url", (await lab.start()).url];
}

describe.skipIf(process.platform === "win32")("invoke at a terminal", () => {
  test.each(["a Host", "a store"] as const)("with %s: shows the answer while it is made", async (kind) => {
    const gate = Promise.withResolvers<void>();
    await using lab = await HostLab.create(
      sseReply([delta({ content: "Well, " }), gate.promise, delta({ content: "yes." }), finish("stop")]),
    );
    await using terminal = new TerminalProcess(["invoke", ...(await flagsFor(lab, kind)), "Is it?"]);
    await terminal.sees(/^Well, $/);
    gate.resolve();
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text).toBe("Well, yes.\r\n");
  });

  test.each(["a Host", "a store"] as const)("with %s: Ctrl-C ends the Turn as cancelled", async (kind) => {
    await using lab = await HostLab.create(sseReply([delta({ content: "Well, " }), forever()]));
    await using terminal = new TerminalProcess(["invoke", ...(await flagsFor(lab, kind)), "Is it?"]);
    await terminal.sees(/Well, /);
    terminal.type("\x03");
    expect(await terminal.exited).toEqual({ code: 130 });
    expect(terminal.text).toMatch(/^Well, (\^C)?\r\n\[stopped\]\r\n$/);
    const { stdout } = await runHoldfast(["sessions", "show", "default", lab.store]);
    expect(stdout).toContain("Turn 1 ended: aborted by user");
  });

  test("breaks lines between words while they come, and shows the last word however the Turn ends", async () => {
    const gate = Promise.withResolvers<void>();
    await using lab = await HostLab.create(
      sseReply([delta({ content: "One two thr" }), gate.promise, delta({ content: "ee fo" }), forever()]),
    );
    await using terminal = new TerminalProcess(["invoke", ...lab.args, "Count."], { columns: 12 });
    await terminal.sees(/^One two $/);
    gate.resolve();
    await terminal.sees(/^\r\nthree $/);
    terminal.type("\x03");
    expect(await terminal.exited).toEqual({ code: 130 });
    expect(terminal.text.replace("^C", "")).toBe("One two \r\nthree fo\r\n[stopped]\r\n");
  });

  test("says so when the Host goes away in the middle of the Turn", async () => {
    await using lab = await HostLab.create(sseReply([delta({ content: "Well, " }), forever()]));
    const host = await lab.start();
    await using terminal = new TerminalProcess(["invoke", "--url", host.url, "Is it?"]);
    await terminal.sees(/Well, /);
    await host.stop("SIGKILL");
    expect(await terminal.exited).toEqual({ code: 1 });
    expect(terminal.text).toStartWith(
      `Well, \r\nholdfast: The Host at ${host.url} went away in the middle of the Turn\r\n  hint: The input may`,
    );
  });

  const REPLIES = [
    sseReply([
      delta({ reasoning_content: "Hm" }),
      delta({ reasoning_content: "m." }),
      delta({ content: "I look." }),
      delta({
        tool_calls: [
          {
            index: 0,
            id: "call-1",
            type: "function",
            function: { name: "list_files", arguments: '{"path":".","depth":3}' },
          },
        ],
      }),
      finish("tool_calls"),
    ]),
    toolCallReply({ id: "call-2", name: "read_file", arguments: '{"path":"nowhere.md"}' }),
    textReply("Nothing ", "there."),
  ];

  test("shows reasoning dimmed, and a line for each tool call", async () => {
    await using lab = await HostLab.create(...REPLIES);
    await using terminal = new TerminalProcess(["invoke", ...lab.args, "Look."]);
    expect(await terminal.exited).toEqual({ code: 0 });
    const undimmed = terminal.text.replaceAll("\u001b[22m\u001b[2m", "");
    expect(undimmed.replaceAll("\r\n", "\n")).toBe(
      "\u001b[2mHmm.\u001b[22m\nI look.\n" +
        '\u001b[2m[list_files {"path":".","depth":3}: ok]\u001b[22m\n' +
        '\u001b[2m[read_file {"path":"nowhere.md"}: failed WORKSPACE_NOT_FOUND]\u001b[22m\nNothing there.\n',
    );
  });

  test("keeps to plain text with NO_COLOR, and tool calls to the width", async () => {
    await using lab = await HostLab.create(...REPLIES);
    await using terminal = new TerminalProcess(["invoke", ...lab.args, "Look."], {
      columns: 30,
      env: { NO_COLOR: "1" },
    });
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text.replaceAll("\r\n", "\n")).toBe(
      "(reasoning)\nHmm.\n(answer)\nI look.\n" +
        '[list_files {"path":".",…: ok]\n[read_file {"path":"nowh…: failed WORKSPACE_NOT_FOUND]\nNothing there.\n',
    );
  });

  test("lets nothing through that steers a terminal, however it is cut", async () => {
    const hostile = "\u001b]0;owned\u0007\u001b[2J\r\u009b31m\u202e\u{1f4a3}";
    const pieces = [...new Intl.Segmenter("en").segment(hostile)].map(({ segment }) => segment);
    await using lab = await HostLab.create(
      toolCallReply({ id: "call-1", name: "read_file", arguments: JSON.stringify({ path: hostile }) }),
      sseReply([
        ...[...hostile].map((content) => delta({ reasoning_content: content })),
        ...pieces.map((content) => delta({ content })),
        finish("stop"),
      ]),
    );
    await using terminal = new TerminalProcess(["invoke", ...lab.args, "Go."], { env: { NO_COLOR: "1" } });
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text.replaceAll("\r\n", "")).not.toMatch(/\p{Cc}|\u202e/u);
    expect(terminal.text).toContain("\\u001b]0;owned\\u0007\\u001b[2J\\u000d\\u009b31m\\u202e\u{1f4a3}\r\n");
  });
});
