import { expect, test } from "bun:test";
import { join } from "node:path";
import { cleanEnvironment, executablePath } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

test("tools that search a workspace with the store in it leave the store locked and writable", async () => {
  await using folder = await TempFolder.create();
  const store = join(folder.path, "data", "agent.db");
  await Bun.write(join(folder.path, "README.md"), "# A folder\n");
  const args = ["--session-db", store, "--workspace", folder.path];
  await using host = await HostProcess.start({ args, cwd: folder.path });

  await invoke(host.url, "What is in this folder?");
  const second = Bun.spawn([executablePath(), "serve", "--port", "0", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: cleanEnvironment(),
    timeout: 20_000,
  });
  expect(await new Response(second.stderr).text()).toContain(`process ${host.pid}`);
  expect(await second.exited).toBe(6);

  // A reader in another process comes and goes: as the last connection it would remove the write-ahead log.
  const reader = Bun.spawn([process.execPath, "-e", READ, store], { stdio: ["ignore", "pipe", "inherit"] });
  expect(Number(await new Response(reader.stdout).text())).toBeGreaterThan(0);
  await invoke(host.url, "What is in this folder?");
});

const READ = `
  const { Database } = require("bun:sqlite");
  const database = new Database(process.argv.at(-1));
  console.log(database.query("SELECT count(*) AS n FROM session_events").get().n);
  database.close();
`;

async function invoke(url: string, input: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/agent/invocations/${crypto.randomUUID()}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input }),
  });
  expect(await response.json()).toMatchObject({ reason: { kind: "completed" } });
}
