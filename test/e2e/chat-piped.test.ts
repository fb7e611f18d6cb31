import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { cleanEnvironment, executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { ProcessOutput } from "../fixtures/process-output.ts";
import { delta, sseReply, statusReply, textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

describe("chat with inputs from a pipe", () => {
  test("prints the texts of the answers, and nothing else", async () => {
    await using folder = await TempFolder.create();
    const stdin =
      '\ufeffsay \u001b[31mone\r\n\nsay two\\\nthree\n"""\nsay four\n\n/five\n"""\n//six\n/exit\nsay seven\n';
    const { code, stdout, stderr } = await runHoldfast(["chat"], { stdin, cwd: folder.path });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toStartWith("\u001b[31mone\ntwo\nthree\nfour\n\n/five\n");
    expect(stdout).toEndWith("\nThis is message 4 of our conversation.\n");
  });

  test("goes on after a Turn that failed, and exits with the first failure", async () => {
    await using lab = await HostLab.create(
      textReply("One."),
      statusReply(401, { error: { message: "wrong key" } }),
      textReply("Three."),
    );
    const { code, stdout, stderr } = await runHoldfast(["chat", ...lab.args], { stdin: "a\nb\n/nope\nc" });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "One.\nThree.\n" });
    expect(stderr).toContain("holdfast: The provider refused the API key");
    expect(stderr).toContain("holdfast: There is no command /nope\n  hint: /help");
  });

  test.each([
    ["ends in a block", '"""\nsay b\n', "The input ends in the middle: its last part was not sent"],
    ["ends in a backslash", "say b\\", "The input ends in the middle: its last part was not sent"],
    ["is not UTF-8", Buffer.from([0x61, 0xff, 0x0a]), "The text on stdin is not UTF-8"],
  ])("refuses an input that %s", async (_, rest, message) => {
    await using folder = await TempFolder.create();
    const stdin = Buffer.concat([Buffer.from("say a\n"), Buffer.from(rest)]);
    const { code, stdout, stderr } = await runHoldfast(["chat"], { stdin, cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "a\n" });
    expect(stderr).toStartWith(`holdfast: ${message}\n  hint: `);
  });

  test("ends when its reader has left, although there are more inputs", async () => {
    await using folder = await TempFolder.create();
    const script = `yes 'say a' | { "$0" chat; echo "code $?" >&2; } | head -n 1`;
    const options = { cwd: folder.path };
    const { stdout, stderr } = await runCommand(["sh", "-c", script, executablePath()], options);
    expect({ stdout, stderr }).toEqual({ stdout: "a\n", stderr: "code 0\n" });
  });

  test("is refused while a Host holds the store", async () => {
    await using lab = await HostLab.create();
    await lab.start();
    const { code, stdout, stderr } = await runHoldfast(["chat", ...lab.args], { stdin: "a\n" });
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toStartWith("holdfast: The store is in use by process ");
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends it, in a Turn and while it waits for more", async (signal, code) => {
    await using lab = await HostLab.create(
      sseReply([delta({ content: "Let me " }), forever()]),
      textReply("Two."),
    );
    for (const isWaiting of [false, true]) {
      await using child = Bun.spawn([executablePath(), "chat", ...lab.args], {
        stdio: ["pipe", "pipe", "pipe"],
        env: cleanEnvironment(),
        timeout: 20_000,
        killSignal: "SIGKILL",
      });
      const stdout = new ProcessOutput(child.stdout);
      child.stdin.write("a\n");
      await child.stdin.flush();
      if (isWaiting) await stdout.waitFor(/Two\./);
      else await lab.server.request(0);
      child.kill(signal);
      await child.exited;
      expect({ code: child.exitCode, stderr: await child.stderr.text() }).toEqual({ code, stderr: "" });
    }
    const { stdout } = await runHoldfast(["sessions", "show", "default", lab.store]);
    expect(stdout).toContain("Turn 1 ended: aborted by user");
  });
});
