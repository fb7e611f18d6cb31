import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { executablePath, runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function serve(socket: string): Promise<HostProcess> {
  return HostProcess.start({ command: [executablePath(), "serve", "--listen", `unix:${socket}`] });
}

describe.skipIf(process.platform === "win32")("a Host that listens on a socket", () => {
  test("says where, lets its owner alone in, answers there, and takes it away at the end", async () => {
    await using folder = await TempFolder.create();
    const socket = folder.at("host.sock");
    await using host = await serve(socket);
    expect(host.stdout.text).toBe(`unix:${socket}\n`);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const answer = await fetch("http://anything/healthz", { unix: socket });
    expect([answer.status, await answer.json()]).toEqual([200, { status: "ok" }]);
    const invoked = await runHoldfast(["invoke", "--url", `unix:${socket}`, "say hello"]);
    expect(invoked).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
    expect(existsSync(socket)).toBe(false);
  });

  test("takes the place of one that was killed, and of none that lives", async () => {
    await using folder = await TempFolder.create();
    const socket = folder.at("host.sock");
    await using killed = await serve(socket);
    await killed.stop("SIGKILL");
    expect(existsSync(socket)).toBe(true);
    await using next = await serve(socket);
    const refused = await runHoldfast(["serve", "--listen", `unix:${socket}`]);
    expect(refused).toMatchObject({ code: 4, stdout: "" });
    expect(refused.stderr).toContain(socket);
    expect((await fetch("http://localhost/healthz", { unix: socket })).status).toBe(200);
    expect(await next.stop("SIGTERM")).toEqual({ code: 143 });
  });
});
