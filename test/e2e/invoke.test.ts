import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { hangingReply, streamed } from "../fixtures/conversation.ts";
import { cleanEnvironment, executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { ProcessOutput } from "../fixtures/process-output.ts";
import {
  delta,
  finish,
  heldReply,
  ProviderServer,
  sseReply,
  statusReply,
  textReply,
} from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** An answer that fits into no pipe: pieces of many sizes, some of them with characters of several bytes. */
const LARGE_PIECES = Array.from({ length: 240 }, (_, k) => `${k}: ${"abc µ€ \u{1F9C0} ".repeat(900)}\n`);
const LARGE = LARGE_PIECES.join("");

describe("invoke", () => {
  test("prints the text of the answer, and nothing else", async () => {
    await using lab = await HostLab.create(textReply("Hello, ", "world."), textReply("Two\nlines.\n"));
    const { url } = await lab.start();
    const first = await runHoldfast(["invoke", "--url", url, "Hi!"]);
    expect(first).toEqual({ code: 0, stdout: "Hello, world.\n", stderr: "" });
    const second = await runHoldfast(["invoke", "Again!"], { env: { HOLDFAST_URL: `${url}/` } });
    expect(second).toEqual({ code: 0, stdout: "Two\nlines.\n", stderr: "" });
    expect(lab.server.requests[1]?.json()).toMatchObject({
      messages: [{ content: "Hi!" }, { content: "Hello, world." }, { content: "Again!" }],
    });
  });

  test("sends the text as it is", async () => {
    await using host = await HostProcess.start();
    const text = '"quoted" \\ $HOME \u{1F9C0}\n\tsecond line';
    const { code, stdout } = await runHoldfast(["invoke", "--url", host.url, `say ${text}`]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${text}\n` });
    expect((await host.client.read()).transcript[0]).toMatchObject({ text: `say ${text}` });
  });

  test("sends the token of its variable", async () => {
    const env = { HOLDFAST_TOKEN: "house key" };
    await using host = await HostProcess.start({ env });
    const args = ["invoke", "--url", host.url, "say hello"];
    expect(await runHoldfast(args, { env })).toMatchObject({ code: 0, stdout: "hello\n" });
    const refused = await runHoldfast(args);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("carries no valid token");
  });

  test("asks the provider and model that its flags name", async () => {
    await using lab = await HostLab.create(textReply("Here."));
    const { url } = await lab.start();
    const route = ["--provider", "openai-compatible", "--model", "test-model"];
    expect(await runHoldfast(["invoke", "--url", url, ...route, "Hi!"])).toMatchObject({ stdout: "Here.\n" });
  });

  test("fails with the Host's reason for a route that there is not", async () => {
    await using host = await HostProcess.start();
    const route = ["--provider", "openai-compatible", "--model", "none"];
    const { code, stdout, stderr } = await runHoldfast(["invoke", "--url", host.url, ...route, "Hi!"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("There is no route to");
    expect(stderr).toContain("demo/demo");
    expect(stderr).toContain("hint: ");
    expect((await host.client.read()).nextSeq).toBe(0);
  });

  test("takes provider and model only together", async () => {
    for (const half of [
      ["--provider", "demo"],
      ["--model", "demo"],
    ]) {
      const { code, stdout, stderr } = await runHoldfast(["invoke", ...half, "Hi!"]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("go together");
    }
  });

  test("fails with a hint where no Host answers", async () => {
    const gone = await HostProcess.start();
    await gone.stop("SIGTERM");
    const { code, stdout, stderr } = await runHoldfast(["invoke", "--url", gone.url, "Hi!"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`No Host answers at ${gone.url}`);
    expect(stderr).toContain("hint: Start one with `holdfast serve`");
  });

  test("says so when something else answers", async () => {
    await using other = new ProviderServer(statusReply(200, "<html>"), statusReply(404, { error: "no" }));
    const url = new URL(other.baseUrl).origin;
    for (const _ of ["not JSON", "another JSON"]) {
      const { code, stdout, stderr } = await runHoldfast(["invoke", "--url", url, "Hi!"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("is not a Holdfast Host");
    }
  });

  test("says why a Turn failed or ended early, and prints what there is", async () => {
    await using lab = await HostLab.create(
      statusReply(401, { error: { message: "wrong key" } }),
      sseReply([delta({ content: "As far as I " }), finish("length")]),
    );
    const { url } = await lab.start();
    const failed = await runHoldfast(["invoke", "--url", url, "Hi!"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain("The provider refused the API key");
    const early = await runHoldfast(["invoke", "--url", url, "Hi!"]);
    expect(early).toMatchObject({ code: 1, stdout: "As far as I \n" });
    expect(early.stderr).toContain("ended early: max-tokens");
  });
});

describe("invoke that is interrupted", () => {
  test("cancels its Turn on the Host, prints what there is of it, and ends with 130", async () => {
    await using lab = await HostLab.create(hangingReply("Well, "), textReply("Next."));
    const host = await lab.start();
    await using child = Bun.spawn([executablePath(), "invoke", "--url", host.url, "Hi!"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: cleanEnvironment(),
      timeout: 20_000,
    });
    const stdout = new ProcessOutput(child.stdout);
    await streamed(host, "Well, ");
    child.kill("SIGINT");
    await child.exited;
    expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: 130, signal: null });
    expect(await stdout.whole).toBe("Well, \n");
    const { events } = await host.client.read();
    expect(events.at(-1)).toMatchObject({
      type: "turn/end",
      data: { turn: 1, reason: { kind: "aborted", reason: { kind: "user" } } },
    });
    expect((await host.client.invoke("Next?")).body).toMatchObject({ turn: 2, message: "Next." });
  });

  test("does not wait for the Host when it is told twice", async () => {
    const never = heldReply(forever(), statusReply(200, ""));
    await using silent = new ProviderServer(never, never);
    await using child = Bun.spawn(
      [executablePath(), "invoke", "--url", new URL(silent.baseUrl).origin, "Hi!"],
      {
        stdio: ["ignore", "ignore", "ignore"],
        env: cleanEnvironment(),
        timeout: 20_000,
      },
    );
    await silent.request(0);
    child.kill("SIGINT");
    expect((await silent.request(1)).method).toBe("DELETE");
    child.kill("SIGINT");
    await child.exited;
    expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: null, signal: "SIGINT" });
  });
});

describe("an answer of 3 MB", () => {
  test("arrives whole through a pipe", async () => {
    await using lab = await HostLab.create(textReply(...LARGE_PIECES));
    const { url } = await lab.start();
    expect(LARGE.length).toBeGreaterThan(2_000_000);
    const { code, stdout, stderr } = await runHoldfast(["invoke", "--url", url, "Speak at length."]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout === LARGE).toBe(true);
  });

  test("arrives whole through a slow reader, and in a file", async () => {
    await using folder = await TempFolder.create();
    await using lab = await HostLab.create(textReply(...LARGE_PIECES), textReply(...LARGE_PIECES));
    const { url } = await lab.start();
    const invoke = `"$0" invoke --url ${url} 'Speak at length.'`;
    await shell(`${invoke} | (sleep 0.3; cat) > piped && ${invoke} > plain`, folder);
    for (const name of ["piped", "plain"]) {
      expect((await Bun.file(folder.at(name)).text()) === LARGE).toBe(true);
    }
  });

  test("may be left by its reader: that is no error", async () => {
    await using folder = await TempFolder.create();
    await using lab = await HostLab.create(textReply(...LARGE_PIECES));
    const { url } = await lab.start();
    const { stdout, stderr } = await shell(
      `{ "$0" invoke --url ${url} 'Speak at length.'; echo $? > code; } | head -c 7`,
      folder,
    );
    expect({ stdout, stderr }).toEqual({ stdout: LARGE.slice(0, 7), stderr: "" });
    expect(await Bun.file(folder.at("code")).text()).toBe("0\n");
  });
});

function shell(script: string, folder: TempFolder) {
  return runCommand(["sh", "-c", script, executablePath()], { cwd: folder.path });
}
