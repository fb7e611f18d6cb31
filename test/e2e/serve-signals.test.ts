import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { HostClient } from "../fixtures/host-client.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { forever } from "../fixtures/model-replies.ts";
import { delta, heldReply, ProviderServer, sseReply, textReply } from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const SIGNALS = [
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const;

function serveArgs(folder: TempFolder, server: ProviderServer): string[] {
  const ask = ["--provider", "openai-compatible", "--model", "m", "--base-url", server.baseUrl];
  return ["--session-db", folder.at("agent.db"), ...ask];
}

describe.each(SIGNALS)("%s", (signal, code) => {
  test(`ends an idle Host with ${code}, its files closed and its store free`, async () => {
    await using folder = await TempFolder.create();
    const args = ["--session-db", folder.at("agent.db")];
    await using host = await HostProcess.start({ args });
    await new HostClient(host).invoke("say hello");
    expect(await readdir(folder.path)).toContain("agent.db-wal");
    expect(await host.stop(signal)).toEqual({ code });
    expect((await readdir(folder.path)).sort()).toEqual(["agent.db", "agent.db.lock"]);
    using database = new Database(folder.at("agent.db"), { readonly: true });
    expect(database.query("SELECT count(*) AS ends FROM records WHERE type = 'turn/end'").get()).toEqual({
      ends: 1,
    });
    await using next = await HostProcess.start({ args });
    expect((await new HostClient(next).read()).transcript).toHaveLength(2);
  });

  test("ends a Turn under way as aborted and answers its client", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(sseReply([delta({ content: "Well, " }), forever()]));
    const args = serveArgs(folder, server);
    await using host = await HostProcess.start({ args });
    const running = new HostClient(host).invoke("hello", "running");
    const queued = new HostClient(host).invoke("and then?", "queued");
    await server.request(0);
    expect(await host.stop(signal)).toEqual({ code });
    for (const answer of await Promise.all([running, queued])) {
      expect(answer).toMatchObject({ status: 503, body: { code: "closing" } });
    }
    await using next = await HostProcess.start({ args });
    const { events, transcript } = await new HostClient(next).read();
    expect(events.at(-1)).toMatchObject({
      type: "turn/end",
      data: { turn: 1, reason: { kind: "aborted", reason: { kind: "disposed" } } },
    });
    expect(transcript.filter(({ kind }) => kind === "user")).toHaveLength(1);
  });

  test("sent twice ends the Host at once", async () => {
    await using folder = await TempFolder.create();
    await using server = new ProviderServer(textReply("x".repeat(4_000_000)), textReply("again"));
    const args = [...serveArgs(folder, server), "--drain-timeout", "600"];
    await using host = await HostProcess.start({ args });
    await new HostClient(host).invoke("hello");
    // It would be waited for until the drain timeout.
    using reader = await readSlowly(host.url, "/api/v1/sessions/default");
    await reader.begun;
    host.kill(signal);
    await host.stderr.waitFor(/Shutting down/);
    expect(await host.stop(signal)).toEqual({ code });
    await using next = await HostProcess.start({ args });
    expect((await new HostClient(next).invoke("go on")).body).toMatchObject({ turn: 2, message: "again" });
  });
});

test("a second signal of another kind ends the Host at once, too", async () => {
  await using folder = await TempFolder.create();
  await using server = new ProviderServer(textReply("x".repeat(4_000_000)));
  const args = [...serveArgs(folder, server), "--drain-timeout", "600"];
  await using host = await HostProcess.start({ args });
  await new HostClient(host).invoke("hello");
  using reader = await readSlowly(host.url, "/api/v1/sessions/default");
  await reader.begun;
  host.kill("SIGINT");
  await host.stderr.waitFor(/Shutting down/);
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
});

test("while it shuts down a Host takes no new work", async () => {
  await using server = new ProviderServer(heldReply(forever(), textReply("late")));
  await using folder = await TempFolder.create();
  await using host = await HostProcess.start({ args: serveArgs(folder, server) });
  const client = new HostClient(host);
  const running = client.invoke("hello", "running");
  await server.request(0);
  host.kill("SIGTERM");
  await host.stderr.waitFor(/Shutting down/);
  // Depending on how far the shutdown is, the connection is refused or the answer says why.
  const [late] = await Promise.allSettled([client.invoke("too late", "late")]);
  if (late.status === "fulfilled") expect(late.value).toMatchObject({ status: 503 });
  expect((await running).body.code).toBe("closing");
  expect(await host.exited).toEqual({ code: 143 });
});
