import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { ProviderServer, textReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { SelfSignedServer, TLS_CERTIFICATE } from "../fixtures/wire-servers.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const KEY = "sk-network-0123456789";

/** Asks a model at this address, without a Host. */
async function ask(baseUrl: string, env: Readonly<Record<string, string>>, folder: TempFolder) {
  const provider = ["--provider", "openai-compatible", "--model", "m", "--base-url", baseUrl];
  const args = [
    "invoke",
    ...provider,
    "--api-key-env",
    "KEY",
    "--retries",
    "0",
    "--session-db",
    "s.db",
    "Hi",
  ];
  return await runHoldfast(args, { cwd: folder.path, env: { KEY, ...env } });
}

describe("the proxy that HTTP_PROXY names", () => {
  test("is asked for a provider elsewhere, unless NO_PROXY names it", async () => {
    await using folder = await TempFolder.create();
    await using proxy = new ProviderServer(textReply("By proxy."));
    const url = "http://provider.invalid/v1";
    const env = { HTTP_PROXY: proxy.origin };
    expect(await ask(url, env, folder)).toEqual({ code: 0, stdout: "By proxy.\n", stderr: "" });
    const direct = await ask(url, { ...env, NO_PROXY: "provider.invalid" }, folder);
    expect(direct.stderr).toStartWith("holdfast: The connection to the provider failed");
    expect(proxy.requests).toHaveLength(1);
  });

  test("gets nothing that is for this machine, neither a model request nor an input for a Host, and nothing is printed", async () => {
    await using folder = await TempFolder.create();
    await using proxy = new ProviderServer();
    await using model = new ProviderServer(textReply("Directly."));
    const env = { HTTP_PROXY: proxy.origin, http_proxy: proxy.origin, HOLDFAST_TOKEN: "token-0123456789" };
    expect(await ask(model.baseUrl, env, folder)).toEqual({ code: 0, stdout: "Directly.\n", stderr: "" });
    await using host = await HostProcess.start({ env });
    // Which would have the runtime print each request.
    const told = { ...env, BUN_CONFIG_VERBOSE_FETCH: "curl" };
    expect(await runHoldfast(["invoke", "--url", host.url, "say Hi"], { env: told })).toEqual({
      code: 0,
      stdout: "Hi\n",
      stderr: "",
    });
    expect(proxy.requests).toHaveLength(0);
  });

  test("is named where it lets no connection through", async () => {
    await using folder = await TempFolder.create();
    await using proxy = new ProviderServer();
    const failed = await ask("https://provider.invalid/v1", { HTTPS_PROXY: proxy.origin }, folder);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toMatch(/^holdfast: The proxy did not let [^\n]*\n {2}hint: Check HTTPS_PROXY/);
  });
});

test("a certificate authority of one's own is trusted where NODE_EXTRA_CA_CERTS names it", async () => {
  await using folder = await TempFolder.create();
  await using server = new SelfSignedServer();
  await writeFile(folder.at("ca.pem"), TLS_CERTIFICATE);
  const refused = await ask(server.origin, {}, folder);
  expect(refused.stderr).toContain("certificate cannot be trusted");
  expect(refused.stderr).toContain("NODE_EXTRA_CA_CERTS");
  expect(server.requests).toBe(0);
  await ask(server.origin, { NODE_EXTRA_CA_CERTS: folder.at("ca.pem") }, folder);
  expect(server.requests).toBe(1);
});
