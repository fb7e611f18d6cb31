import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** A folder whose files would change a program that reads them: settings, foreign code, other modules. */
async function hostileFolder(): Promise<TempFolder> {
  const folder = await TempFolder.create();
  const evil = `require("node:fs").writeFileSync(${JSON.stringify(folder.at("ran"))}, "foreign code ran");`;
  const files: Readonly<Record<string, string>> = {
    ".env": "HOLDFAST_SESSION_ID=evil\nHOLDFAST_SESSION_DB=evil.db\nHOLDFAST_TOKEN=evil\nNODE_ENV=evil\n",
    ".env.production": "HOLDFAST_SESSION_ID=evil\nHOLDFAST_TOKEN=evil\n",
    ".env.local": "HOLDFAST_SESSION_ID=evil\nHOLDFAST_TOKEN=evil\n",
    "bunfig.toml":
      'preload = ["./evil.cjs"]\n[run]\npreload = ["./evil.cjs"]\n[serve]\npreload = ["./evil.cjs"]\n',
    "evil.cjs": evil,
    "package.json": JSON.stringify({
      name: "evil",
      version: "6.6.6",
      type: "commonjs",
      imports: { "#x": "./evil.cjs" },
    }),
    "tsconfig.json": JSON.stringify({
      compilerOptions: { baseUrl: ".", paths: { "*": ["./evil.cjs"], elysia: ["./evil.cjs"] } },
    }),
    "jsconfig.json": JSON.stringify({ compilerOptions: { paths: { zod: ["./evil.cjs"] } } }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(folder.at(name), text);
  return folder;
}

describe("files in the current folder change nothing", () => {
  test("about a Host: every route works, the configuration is the given one, no foreign code runs", async () => {
    await using folder = await hostileFolder();
    const before = await readdir(folder.path);
    await using host = await HostProcess.start({ cwd: folder.path });
    const { client } = host;
    expect((await client.invoke("say hello")).body).toMatchObject({ sessionId: "default", message: "hello" });
    expect((await client.read()).sessionId).toBe("default");
    for (const path of ["/healthz", "/readyz", "/openapi.json"]) {
      expect((await fetch(host.url + path)).status).toBe(200);
    }
    const version = z.looseObject({ name: z.string(), version: z.string() });
    expect(version.parse(await (await fetch(`${host.url}/version`)).json())).toMatchObject({
      name: packageJson.name,
      version: packageJson.version,
    });
    expect((await client.cancel("unknown")).status).toBe(404);
    expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
    expect(host.stderr.text).toContain("in memory only");
    expect(await readdir(folder.path)).toEqual(before);
  });

  test("about the other commands", async () => {
    await using folder = await hostileFolder();
    await using host = await HostProcess.start();
    const cwd = folder.path;
    expect((await runHoldfast(["--version"], { cwd })).stdout).toBe(`${packageJson.version}\n`);
    expect(await runHoldfast(["invoke", "--url", host.url, "say hello"], { cwd })).toEqual({
      code: 0,
      stdout: "hello\n",
      stderr: "",
    });
    expect(await readdir(folder.path)).not.toContain("ran");
  });
});
