import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { HostConfig } from "../../src/host/config.ts";
import { type Host, type HostDependencies, startHost } from "../../src/host/host.ts";
import type { ListenAddress } from "../../src/host/listen-address.ts";
import { serialiseHeader } from "../../src/session/header.ts";
import { decodeRecord } from "../../src/session/records.ts";
import { openSqlite, openSqliteBackend } from "../../src/store/sqlite/index.ts";
import { Counters, openFaultyStore } from "../fixtures/agent-store.ts";
import { ofType } from "../fixtures/event-faults.ts";
import { hostConfig, modelAt } from "../fixtures/host-config.ts";
import { HostRig, SESSION_ID } from "../fixtures/host-rig.ts";
import { ProviderServer, textReply, toolCallReply } from "../fixtures/provider-server.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { echo, StubbornTool } from "../fixtures/test-tools.ts";

function configIn(folder: string, more: Partial<HostConfig> = {}): HostConfig {
  return hostConfig({
    sessionDb: join(folder, "host.db"),
    workspace: folder,
    drainTimeoutMs: 5_000,
    ...more,
  });
}

function tcp(port: number, host = "127.0.0.1"): ListenAddress {
  return { kind: "tcp", host, port };
}

function start(config: HostConfig, more: Partial<HostDependencies> = {}): Promise<Host> {
  return startHost(config, { ...new Counters(), ...more });
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port = 0 } = server;
  await server.stop(true);
  return port;
}

function listens(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  );
}

async function invoke(host: Host, input: string, id = "i"): Promise<{ status: number; text: string }> {
  const response = await fetch(`${host.url}/api/v1/agent/invocations/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input }),
  });
  return { status: response.status, text: await response.text() };
}

/** Opens the store as its next owner would, and gives it back. */
async function expectFree({ sessionDb = "" }: HostConfig): Promise<void> {
  await (await openSqlite({ path: sessionDb, clock: () => 0, chunkWindowMs: 0 })).close();
}

describe("the order of a start", () => {
  test("store, then session, then listener: nobody is answered before the session is there", async () => {
    await using folder = await TempFolder.create();
    const port = await freePort();
    const config = configIn(folder.path, { listen: tcp(port) });
    const opening = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    const store = await openFaultyStore(config.sessionDb ?? "", () => 0);
    const reading = store.faults.hold("readStored");
    const starting = start(config, {
      openStore: async () => {
        opening.resolve();
        await opened.promise;
        return store.store;
      },
    });
    await opening.promise;
    expect(await listens(port)).toBe(false);
    opened.resolve();
    await reading.reached;
    expect(await listens(port)).toBe(false);
    reading.release();
    await using host = await starting;
    expect(host.url).toBe(`http://127.0.0.1:${port}`);
    expect(await listens(port)).toBe(true);
  });

  test("the Turn that a crash left open is closed on the disk before anybody is answered", async () => {
    await using folder = await TempFolder.create();
    const port = await freePort();
    const config = configIn(folder.path, { listen: tcp(port) });
    {
      await using store = await openSqlite({
        path: config.sessionDb ?? "",
        clock: () => 7,
        chunkWindowMs: 0,
      });
      const session = await store.create({ version: 0, id: SESSION_ID, createdAt: 0 });
      await session.log.append({ type: "turn/start", data: { turn: 1 } });
    }
    const store = await openFaultyStore(config.sessionDb ?? "", () => 0);
    const recovery = store.faults.hold("commitRepair");
    const starting = start(config, { openStore: async () => store.store });
    await recovery.reached;
    expect(await listens(port)).toBe(false);
    recovery.release();
    await using host = await starting;
    expect([...host.agent.session.log].map(({ type }) => type)).toEqual(["turn/start", "turn/end"]);
  });

  test("a new session is stored with its first Turn, not before", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    await (await start(config))[Symbol.asyncDispose]();
    await using store = await openSqlite({ path: config.sessionDb ?? "", clock: () => 0, chunkWindowMs: 0 });
    expect((await store.list()).items).toEqual([]);
  });
});

/** A message that replaces one that is not there. */
const DAMAGED = JSON.stringify({
  type: "user/message",
  seq: 0,
  time: 1,
  data: { id: "u", role: "user", content: [], source: { kind: "user" } },
  surfaceOp: { op: "replace", start: 0, end: 0 },
});

describe("a start that fails leaves nothing locked and nothing listening", () => {
  test("the port is in use", async () => {
    await using folder = await TempFolder.create();
    await using other = new ProviderServer();
    const config = configIn(folder.path, { listen: tcp(Number(new URL(other.baseUrl).port)) });
    await expect(start(config)).rejects.toMatchObject({ code: "port-in-use" });
    expect(readdirSync(folder.path)).toEqual([]);
    expect((await fetch(other.baseUrl)).status).toBe(599);
    await using host = await start({ ...config, listen: tcp(0) });
    expect(host.url).toContain("127.0.0.1");
  });

  test("the address is not one of this machine", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path, { listen: tcp(0, "192.0.2.1") });
    await expect(start(config)).rejects.toMatchObject({ code: "listen-failed" });
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("the port is taken by another process while the store is opened", async () => {
    await using folder = await TempFolder.create();
    const port = await freePort();
    const config = configIn(folder.path, { listen: tcp(port) });
    const other = Promise.withResolvers<Bun.Server<undefined>>();
    const starting = start(config, {
      openStore: async ({ sessionDb = "" }) => {
        other.resolve(Bun.serve({ port, hostname: "127.0.0.1", fetch: () => new Response() }));
        return await openSqlite({ path: sessionDb, clock: () => 0, chunkWindowMs: 0 });
      },
    });
    await expect(starting).rejects.toMatchObject({ code: "port-in-use" });
    await (await other.promise).stop(true);
    await expectFree(config);
  });

  test("something else is at the path of the socket", async () => {
    await using folder = await TempFolder.create();
    await Bun.write(folder.at("taken"), "");
    const config = configIn(folder.path, { listen: { kind: "unix", path: folder.at("taken") } });
    await expect(start(config)).rejects.toMatchObject({ code: "listen-failed" });
    expect(readdirSync(folder.path)).toEqual(["taken"]);
  });

  test("the port is in use by the Host that holds the store, which is what is said", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    await using host = await start(config);
    const again = { ...config, listen: tcp(Number(new URL(host.url).port)) };
    await expect(start(again)).rejects.toMatchObject({ code: "locked", holder: { pid: process.pid } });
    expect((await invoke(host, "say hello")).status).toBe(200);
  });

  test("the provider cannot be set up", async () => {
    await using folder = await TempFolder.create();
    const port = await freePort();
    const config = configIn(folder.path, {
      listen: tcp(port),
      ...modelAt("nowhere"),
    });
    await expect(start(config)).rejects.toThrow("base URL");
    await expectFree(config);
    expect(await listens(port)).toBe(false);
  });

  test("a tool is there twice", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    await expect(start(config, { extraTools: [echo, echo] })).rejects.toMatchObject({
      code: "tool-registration",
    });
    await expectFree(config);
  });

  test.each([
    ["is of a newer kind", '{"type":"future/event","seq":0,"time":1,"data":{}}', "unsupported-format"],
    ["is damaged", DAMAGED, "corrupt"],
  ])("the session %s, and the others can still be served", async (_, text, code) => {
    await using folder = await TempFolder.create();
    const port = await freePort();
    const config = configIn(folder.path, { listen: tcp(port) });
    const backend = await openSqliteBackend({ path: config.sessionDb ?? "", thread: "process" });
    const header = serialiseHeader({ version: 0, id: SESSION_ID, createdAt: 0 });
    const { record } = decodeRecord(text, {});
    await backend.appendBatch([{ id: SESSION_ID, header, expectedSeq: record.seq, records: [record] }]);
    await backend.close();
    await expect(start(config)).rejects.toMatchObject({ code });
    await expectFree(config);
    expect(await listens(port)).toBe(false);
    await using host = await start({ ...config, sessionId: "another" });
    expect((await invoke(host, "say hello")).status).toBe(200);
  });

  test("the store is in use: the one who has it keeps it", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    await using host = await start(config);
    await expect(start(config)).rejects.toMatchObject({ code: "locked", holder: { pid: process.pid } });
    expect((await invoke(host, "say hello")).status).toBe(200);
  });
});

describe("sessions", () => {
  test("in memory: everything works, and all is forgotten with the Host", async () => {
    await using folder = await TempFolder.create();
    const { sessionDb: _, ...config } = configIn(folder.path);
    const first = await start(config);
    expect(first.location).toBe("memory");
    expect(JSON.parse((await invoke(first, "say hello")).text)).toMatchObject({ turn: 1, message: "hello" });
    expect(await (await fetch(`${first.url}/readyz`)).json()).toEqual({ status: "ready", backend: "memory" });
    await first[Symbol.asyncDispose]();
    await using second = await start(config);
    expect(second.agent.session.log.length).toBe(0);
  });

  test("in SQLite: a restart goes on where the last one ended", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    const first = await start(config);
    expect(first.location).toContain("host.db");
    await invoke(first, "say hello");
    const texts = [...first.agent.session.log.texts()];
    await first[Symbol.asyncDispose]();
    await using second = await start(config);
    expect([...second.agent.session.log.texts()]).toEqual(texts);
    expect(JSON.parse((await invoke(second, "say more")).text)).toMatchObject({ turn: 2, message: "more" });
  });

  test("each id is a session of its own in one store", async () => {
    await using folder = await TempFolder.create();
    const config = configIn(folder.path);
    for (const sessionId of ["a", "b", "a"]) {
      await using host = await start({ ...config, sessionId });
      await invoke(host, `say I am ${sessionId}`);
    }
    await using host = await start({ ...config, sessionId: "a" });
    const said = [...host.agent.session.projections.transcript(host.agent.session.log)];
    expect(said.flatMap((entry) => (entry.kind === "assistant" ? [entry.text] : []))).toEqual([
      "I am a",
      "I am a",
    ]);
  });

  test("a Host that was stopped in a tool call starts again without running it again", async () => {
    const stubborn = new StubbornTool();
    const call = toolCallReply({ id: "a", name: "stubborn", arguments: "{}" });
    await using rig = await HostRig.start({ tools: [stubborn.tool], replies: [call, textReply("back")] });
    const invocation = rig.invoke("go");
    await stubborn.reached;
    await rig.restart();
    expect((await invocation).body.code).toBe("closing");
    expect((await rig.invoke("and?")).body).toMatchObject({ turn: 2, message: "back" });
    expect(stubborn.runs).toBe(1);
    expect([...rig.host.agent.session.log].filter(ofType("tool/result"))).toHaveLength(1);
    stubborn.release();
  });
});
