import { expect, test } from "bun:test";
import { openSync } from "node:fs";
import { cleanEnvironment, executablePath } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { heldReply, ProviderServer, textReply } from "../fixtures/provider-server.ts";

async function run(args: readonly string[], stdout: "pipe" | number = "pipe") {
  const child = Bun.spawn([executablePath(), ...args], {
    stdio: ["ignore", stdout, "pipe"],
    env: cleanEnvironment(),
    timeout: 20_000,
  });
  const stderr = await new Response(child.stderr).text();
  return { stderr, code: await child.exited };
}

test.skipIf(process.platform !== "linux")(
  "output that a full disk refuses is one line and exit code 1",
  async () => {
    const { stderr, code } = await run(["--help"], openSync("/dev/full", "w"));
    expect(stderr).toBe("holdfast: the output cannot be written (ENOSPC)\n");
    expect(code).toBe(1);
  },
);

test.each(["", "  \n"])("an input of nothing (%j) is a mistake of usage", async (input) => {
  const { stderr, code } = await run(["invoke", "--url", "http://127.0.0.1:1", input]);
  expect(stderr).toContain("The text is empty");
  expect(code).toBe(2);
});

test("a Host that dies in the middle of an invocation may have recorded it, and invoke says so", async () => {
  const never = Promise.withResolvers<void>();
  await using provider = new ProviderServer(heldReply(never.promise, textReply("late")));
  const model = ["--provider", "openai-compatible", "--base-url", provider.baseUrl, "--model", "m"];
  await using host = await HostProcess.start({ args: model });
  const invocation = run(["invoke", "--url", host.url, "hello"]);
  await provider.request(0);
  process.kill(host.pid, "SIGKILL");
  const { stderr, code } = await invocation;
  expect(stderr).toContain("went away in the middle of the Turn");
  expect(stderr).toContain("may have been recorded");
  expect(code).toBe(1);
  never.resolve();
});
