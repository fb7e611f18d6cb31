import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** Lets a child make files for everyone, as far as the child itself does not say otherwise. */
const OPEN_UMASK = ["sh", "-c", 'umask 000; exec "$0" "$@"'];

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

describe("a Host that is ready", () => {
  test("prints its URL as one line on stdout, and nothing else ever", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start({ cwd: folder.path });
    const { client } = host;
    expect((await client.invoke("say hello")).status).toBe(200);
    expect((await fetch(`${host.url}/nothing`)).status).toBe(404);
    await host.stop("SIGTERM");
    expect(host.stdout.text).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
    expect(host.stdout.text).toBe(`${host.url}\n`);
  });

  test("answers the first request that follows the line", async () => {
    await using host = await HostProcess.start();
    const answers = await Promise.all(
      ["/healthz", "/readyz", "/api/v1/sessions/default"].map((path) => fetch(host.url + path)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("has made what it needs before the line: the store and its lock", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start({ args: ["--session-db", folder.at("a.db")] });
    expect(host.url).not.toBe("");
    expect(await readdir(folder.path)).toEqual(expect.arrayContaining(["a.db", "a.db.lock", "a.db.owner"]));
  });
});

describe("a Host", () => {
  test("works from any folder, and keeps relative paths relative to it", async () => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("elsewhere"));
    await using host = await HostProcess.start({
      cwd: folder.at("elsewhere"),
      args: ["--session-db", "data/agent.db"],
    });
    const { client } = host;
    await client.invoke("say hello");
    expect((await client.read()).header["cwd"]).toBe(folder.at("elsewhere"));
    expect(await readdir(folder.at("elsewhere", "data"))).toContain("agent.db");
  });

  test("makes folders and files for its user only, also where the umask would let everyone in", async () => {
    await using folder = await TempFolder.create();
    await using host = await HostProcess.start({
      launcher: OPEN_UMASK,
      args: ["--session-db", folder.at("one", "two", "agent.db")],
    });
    await host.client.invoke("say hello");
    expect(await modeOf(folder.at("one"))).toBe("700");
    expect(await modeOf(folder.at("one", "two"))).toBe("700");
    const names = await readdir(folder.at("one", "two"));
    expect(names).toEqual(expect.arrayContaining(["agent.db", "agent.db-wal", "agent.db-shm"]));
    const modes = await Promise.all(
      names.map(async (name) => [name, await modeOf(folder.at("one", "two", name))]),
    );
    expect(modes).toEqual(names.map((name) => [name, "600"]));
  });

  test("says that a session in memory ends with the process, and where a stored one lies", async () => {
    await using folder = await TempFolder.create();
    await using inMemory = await HostProcess.start({ cwd: folder.path });
    await using stored = await HostProcess.start({ args: ["--session-db", folder.at("agent.db")] });
    await inMemory.stop("SIGTERM");
    await stored.stop("SIGTERM");
    expect(inMemory.stderr.text).toContain("in memory only");
    expect(stored.stderr.text).not.toContain("in memory only");
    expect(stored.stderr.text).toContain(folder.at("agent.db"));
    expect(await readdir(folder.path)).not.toContain("default");
  });

  test("keeps sessions of different ids apart in one store", async () => {
    await using folder = await TempFolder.create();
    const args = ["--session-db", folder.at("agent.db"), "--session-id"];
    for (const id of ["first", "second"]) {
      await using host = await HostProcess.start({ args: [...args, id] });
      const { client } = host;
      expect((await client.invoke(`say ${id}`)).body).toMatchObject({ sessionId: id, turn: 1, message: id });
      await host.stop("SIGTERM");
    }
    await using host = await HostProcess.start({ args: [...args, "first"] });
    const session = await host.client.read("first");
    expect(session.transcript.map((entry) => entry["text"])).toEqual(["say first", "first"]);
  });
});

describe("the demo model", () => {
  test("needs no key and gives two fresh sessions the same answer", async () => {
    await using folder = await TempFolder.create();
    await mkdir(folder.at("notes"));
    await writeFile(folder.at("notes", "README.md"), "# Buy milk\n");
    const answers: unknown[] = [];
    for (const name of ["one.db", "two.db"]) {
      await using host = await HostProcess.start({
        args: ["--session-db", folder.at(name), "--workspace", folder.at("notes")],
      });
      const { client } = host;
      const turns = [await client.invoke("Where is the milk?", "a"), await client.invoke("And now?", "b")];
      answers.push([turns, (await client.read()).transcript]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(JSON.stringify(answers[0])).toContain("Buy milk");
  });
});
