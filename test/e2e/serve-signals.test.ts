import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { hangingReply } from "../fixtures/conversation.ts";
import { HostLab } from "../fixtures/host-lab.ts";
import { forever } from "../fixtures/model-replies.ts";
import { heldReply, textReply } from "../fixtures/provider-server.ts";
import { readSlowly } from "../fixtures/slow-reader.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const SIGNALS = [
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const;

/** More than the system takes for a client that does not read. */
const LARGE = textReply("x".repeat(4_000_000));

describe.each(SIGNALS)("%s", (signal, code) => {
  test(`ends an idle Host with ${code}, its files closed and its store free`, async () => {
    await using lab = await HostLab.create(textReply("hello"));
    const host = await lab.start();
    await host.client.invoke("hi");
    const folder = dirname(lab.store);
    expect(await readdir(folder)).toContain("agent.db-wal");
    expect(await host.stop(signal)).toEqual({ code });
    expect((await readdir(folder)).sort()).toEqual(["agent.db", "agent.db.lock"]);
    using database = new Database(lab.store, { readonly: true });
    expect(database.query("SELECT count(*) AS ends FROM records WHERE type = 'turn/end'").get()).toEqual({
      ends: 1,
    });
    const next = await lab.start();
    expect((await next.client.read()).transcript).toHaveLength(2);
  });

  test("ends a Turn under way as aborted and answers its client", async () => {
    await using lab = await HostLab.create(hangingReply("Well, "));
    const host = await lab.start();
    const { client } = host;
    const running = client.invoke("hello", "running");
    await lab.server.request(0);
    // One of the two is refused as a duplicate; then the other one waits in the queue.
    const queued = [client.invoke("and then?", "queued"), client.invoke("and then?", "queued")];
    expect((await Promise.race(queued)).body.code).toBe("invocation-duplicate");
    expect(await host.stop(signal)).toEqual({ code });
    const codes = (await Promise.all([running, ...queued])).map(({ body }) => body.code);
    expect(codes.sort()).toEqual(["closing", "closing", "invocation-duplicate"]);
    const next = await lab.start();
    const { events, transcript } = await next.client.read();
    expect(events.at(-1)).toMatchObject({
      type: "turn/end",
      data: { turn: 1, reason: { kind: "aborted", reason: { kind: "disposed" } } },
    });
    expect(transcript.filter(({ kind }) => kind === "user")).toHaveLength(1);
  });

  test("sent twice ends the Host at once", async () => {
    await using lab = await HostLab.create(LARGE, textReply("again"));
    const host = await lab.start({ args: ["--drain-timeout", "600"] });
    await host.client.invoke("hello");
    // It would be waited for until the drain timeout.
    using reader = await readSlowly(host.url, "/api/v1/sessions/default");
    await reader.begun;
    host.kill(signal);
    await host.stderr.waitFor(/Shutting down/);
    expect(await host.stopAtOnce(signal)).toEqual({ signal });
    const next = await lab.start();
    expect((await next.client.invoke("go on")).body).toMatchObject({ turn: 2, message: "again" });
  });
});

test("a second signal of another kind ends the Host at once, too", async () => {
  await using lab = await HostLab.create(LARGE);
  const host = await lab.start({ args: ["--drain-timeout", "600"] });
  await host.client.invoke("hello");
  using reader = await readSlowly(host.url, "/api/v1/sessions/default");
  await reader.begun;
  host.kill("SIGINT");
  await host.stderr.waitFor(/Shutting down/);
  expect(await host.stop("SIGTERM")).toEqual({ signal: "SIGTERM" });
});

test("a SIGTERM that comes twice at once, from a process group and a wrapper in it, is one", async () => {
  await using lab = await HostLab.create(hangingReply("Well, "));
  const host = await lab.start();
  const running = host.client.invoke("hello");
  await lab.server.request(0);
  host.kill("SIGTERM");
  expect(await host.stop("SIGTERM")).toEqual({ code: 143 });
  expect((await running).body.code).toBe("closing");
  expect(await readdir(dirname(lab.store))).not.toContain("agent.db-wal");
});

test("while it shuts down a Host takes no new work", async () => {
  await using lab = await HostLab.create(heldReply(forever(), textReply("late")));
  const host = await lab.start();
  const { client } = host;
  const running = client.invoke("hello", "running");
  await lab.server.request(0);
  host.kill("SIGTERM");
  await host.stderr.waitFor(/Shutting down/);
  // Depending on how far the shutdown is, the connection is refused or the answer says why.
  const [late] = await Promise.allSettled([client.invoke("too late", "late")]);
  if (late.status === "fulfilled") expect(late.value).toMatchObject({ status: 503 });
  expect((await running).body.code).toBe("closing");
  expect(await host.exited).toEqual({ code: 143 });
});
