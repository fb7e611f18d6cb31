import { describe, expect, test } from "bun:test";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { startHost } from "../../src/host/host.ts";
import { ListenError } from "../../src/host/listen-error.ts";
import { type Listenable, type Listener, listen } from "../../src/host/listener.ts";
import { rejectionOf } from "../contract/support.ts";
import { Counters } from "../fixtures/agent-store.ts";
import { hostConfig } from "../fixtures/host-config.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/** An app that answers with its name. */
function appOf(name: string, whenMade: (path: string) => void = () => undefined): Listenable {
  return {
    listen: (options) => {
      const server = Bun.serve({ ...options, fetch: () => new Response(name) });
      if ("unix" in options) whenMade(options.unix);
      return { server };
    },
  };
}

function at(path: string, name = "app"): Promise<Listener> {
  return listen(appOf(name), { kind: "unix", path });
}

async function ask(path: string): Promise<string> {
  return (await fetch("http://localhost/", { unix: path })).text();
}

async function refusal(listening: Promise<Listener>): Promise<ListenError> {
  const error = await rejectionOf(listening);
  if (error instanceof ListenError) return error;
  throw error;
}

/** A socket file at which nobody listens any more, as a killed Host leaves it. */
async function leaveStale(path: string): Promise<bigint> {
  const server = Bun.serve({ unix: `${path}.old`, fetch: () => new Response() });
  renameSync(`${path}.old`, path);
  await server.stop(true);
  return lstatSync(path, { bigint: true }).ino;
}

describe("a socket in the file system", () => {
  test("answers at its path, belongs to its owner alone, and is gone when the Host stops", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    const listener = await at(path);
    expect(listener.url).toBe(`unix:${path}`);
    expect(await ask(path)).toBe("app");
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path)).toEqual(["h.sock"]);
    await listener.stop(0);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("can be used by nobody else from its first moment, whatever the umask, which stays", async () => {
    await using folder = await TempFolder.create();
    const before = process.umask(0);
    try {
      let mode = -1;
      const app = appOf("app", (made) => {
        mode = lstatSync(made).mode;
      });
      const listener = await listen(app, { kind: "unix", path: folder.at("h.sock") });
      expect(mode & 0o077).toBe(0);
      await listener.stop(0);
    } finally {
      expect(process.umask(before)).toBe(0);
    }
  });

  test("takes the place of one at which nobody listens", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    const stale = await leaveStale(path);
    const listener = await at(path);
    expect(await ask(path)).toBe("app");
    expect(lstatSync(path, { bigint: true }).ino).not.toBe(stale);
    expect(readdirSync(folder.path)).toEqual(["h.sock"]);
    await listener.stop(0);
  });

  test("does not take the place of one at which somebody listens", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    const first = await at(path, "first");
    const error = await refusal(at(path, "second"));
    expect(error.code).toBe("socket-in-use");
    expect(error.message).toContain(path);
    expect(await ask(path)).toBe("first");
    expect(readdirSync(folder.path)).toEqual(["h.sock"]);
    await first.stop(0);
  });

  test.each([
    ["nothing", false],
    ["a stale one", true],
  ])("goes to one of many who start at once where there is %s", async (_, isStale) => {
    for (let round = 0; round < 5; round += 1) {
      await using folder = await TempFolder.create();
      const path = folder.at("h.sock");
      if (isStale) await leaveStale(path);
      const names = Array.from({ length: 8 }, (_, k) => `app ${k}`);
      const results = await Promise.allSettled(names.map((name) => at(path, name)));
      const winners = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
      expect(winners).toHaveLength(1);
      for (const result of results) {
        if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "socket-in-use" });
      }
      expect(await ask(path)).toBe(`app ${results.findIndex(({ status }) => status === "fulfilled")}`);
      expect(readdirSync(folder.path)).toEqual(["h.sock"]);
      await winners[0]?.stop(0);
    }
  });

  test("is left where it is if it is another one's by the time the Host stops", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    const first = await at(path, "first");
    renameSync(path, folder.at("moved.sock"));
    const second = await at(path, "second");
    await first.stop(0);
    expect(await ask(path)).toBe("second");
    await second.stop(0);
  });

  test("says what a left-over claim is, and can be had when it is gone", async () => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    const stale = await leaveStale(path);
    const claim = `.holdfast-${stale.toString(36)}`;
    linkSync(path, folder.at(claim));
    const error = await refusal(at(path));
    expect(error).toMatchObject({ code: "socket-in-use" });
    expect(error.hint).toContain(".holdfast-");
    expect(readdirSync(folder.path).sort()).toEqual([claim, "h.sock"]);
  });
});

describe("refused, and left as it was, is", () => {
  const kinds: ReadonlyArray<readonly [string, (path: string, other: string) => void]> = [
    ["a file", (path) => writeFileSync(path, "mine")],
    ["a folder", (path) => mkdirSync(path)],
    ["a link to a file", (path, other) => symlinkSync(other, path)],
    ["a link to nothing", (path) => symlinkSync("nowhere", path)],
  ];
  test.each(kinds)("%s", async (_, make) => {
    await using folder = await TempFolder.create();
    const path = folder.at("h.sock");
    writeFileSync(folder.at("other"), "other");
    make(path, folder.at("other"));
    const before = lstatSync(path, { bigint: true });
    const error = await refusal(at(path));
    expect(error).toMatchObject({ code: "listen-failed" });
    expect(error.message).toContain("no socket");
    expect(lstatSync(path, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
    expect(readFileSync(folder.at("other"), "utf8")).toBe("other");
    expect(readdirSync(folder.path).sort()).toEqual(["h.sock", "other"]);
  });

  test("a link to a socket", async () => {
    await using folder = await TempFolder.create();
    const listener = await at(folder.at("real.sock"));
    symlinkSync("real.sock", folder.at("h.sock"));
    expect((await refusal(at(folder.at("h.sock")))).message).toContain("no socket");
    expect(await ask(folder.at("real.sock"))).toBe("app");
    await listener.stop(0);
  });

  test("a path in a folder that is not there", async () => {
    await using folder = await TempFolder.create();
    const error = await refusal(at(folder.at("none", "h.sock")));
    expect(error).toMatchObject({ code: "listen-failed", message: expect.stringContaining("no folder") });
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test("a path that the system cannot take, by its name or by its folder", async () => {
    await using folder = await TempFolder.create();
    const deep = folder.at("d".repeat(90));
    mkdirSync(deep);
    for (const path of [folder.at("s".repeat(100)), `${deep}/s`]) {
      const error = await refusal(at(path));
      expect(error).toMatchObject({ code: "listen-failed", message: expect.stringContaining("too long") });
    }
    expect(readdirSync(deep)).toEqual([]);
  });
});

test("a Host on a socket takes any Host header, and still no page of another origin", async () => {
  await using folder = await TempFolder.create();
  const path = folder.at("h.sock");
  const config = hostConfig({ workspace: folder.path, listen: { kind: "unix", path } });
  {
    await using host = await startHost(config, { ...new Counters() });
    expect(host.url).toBe(`unix:${path}`);
    const answer = await fetch("http://anything.example/healthz", { unix: path });
    expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}']);
    const headers = { origin: "http://elsewhere.example" };
    const foreign = await fetch("http://anything.example/healthz", { unix: path, headers });
    expect(foreign.status).toBe(403);
  }
  expect(readdirSync(folder.path)).not.toContain("h.sock");
});

test("a port that another start only looks at is not taken", async () => {
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("other") });
  const { port = 0 } = other;
  const app = appOf("app");
  let tries = 0;
  const looked: Listenable = {
    listen: (options) => {
      tries += 1;
      try {
        return app.listen(options);
      } finally {
        if (tries === 1) void other.stop(true);
      }
    },
  };
  const listener = await listen(looked, { kind: "tcp", host: "127.0.0.1", port });
  expect(tries).toBe(2);
  expect(await (await fetch(listener.url)).text()).toBe("app");
  await listener.stop(0);
});

test("a port that is taken is refused with a code of its own", async () => {
  const first = await listen(appOf("first"), { kind: "tcp", host: "127.0.0.1", port: 0 });
  const port = Number(new URL(first.url).port);
  expect(await refusal(listen(appOf("second"), { kind: "tcp", host: "127.0.0.1", port }))).toMatchObject({
    code: "port-in-use",
  });
  await first.stop(0);
});
