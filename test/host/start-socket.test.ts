import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { startHost } from "../../src/host/host.ts";
import { openSqlite } from "../../src/store/sqlite/index.ts";
import { rejectionOf } from "../contract/support.ts";
import { Counters } from "../fixtures/agent-store.ts";
import { hostConfig } from "../fixtures/host-config.ts";
import { SESSION_ID } from "../fixtures/host-rig.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

type Store = { readonly sessionDb: string } | { readonly sessionDir: string };

function start(folder: TempFolder, store: Store, path: string) {
  const config = hostConfig({ ...store, workspace: folder.path, listen: { kind: "unix", path } });
  return startHost(config, new Counters());
}

function openStore(path: string) {
  return openSqlite({ path, clock: () => 7, chunkWindowMs: 0 });
}

describe.skipIf(process.platform === "win32")("the folder of a socket", () => {
  test.each([
    ["that of the database", (at: TempFolder["at"]) => ({ sessionDb: at("a", "b", "host.db") })],
    ["that of the logs", (at: TempFolder["at"]) => ({ sessionDir: at("a", "b") })],
    ["above that of the logs", (at: TempFolder["at"]) => ({ sessionDir: at("a", "b", "logs") })],
  ])("may be one that is made with a new store: %s", async (_, storeIn) => {
    await using folder = await TempFolder.create();
    const path = folder.at("a", "b", "h.sock");
    await using host = await start(folder, storeIn(folder.at.bind(folder)), path);
    expect(host.url).toBe(`unix:${path}`);
  });

  test.each([
    ["is not there", "none", /no folder for the socket/],
    ["is a file", "file", /in what is no folder/],
    ["would lie below a file", "file/in", /in what is no folder/],
  ])(
    "that %s is told of before the store is touched: none is made, and no Turn is closed",
    async (_, name, message) => {
      await using folder = await TempFolder.create();
      await Bun.write(folder.at("file"), "");
      const path = folder.at(name, "h.sock");
      const stores = [
        { sessionDb: folder.at("new.db") },
        { sessionDb: folder.at("new", "host.db") },
        { sessionDir: folder.at("logs") },
      ];
      for (const store of stores) {
        const error = await rejectionOf(start(folder, store, path));
        expect(error).toMatchObject({ code: "listen-failed", message: expect.stringMatching(message) });
      }
      expect(readdirSync(folder.path)).toEqual(["file"]);

      const sessionDb = folder.at("host.db");
      {
        await using store = await openStore(sessionDb);
        const session = await store.create({ version: 0, id: SESSION_ID, createdAt: 0 });
        await session.log.append({ type: "turn/start", data: { turn: 1 } });
      }
      expect(await rejectionOf(start(folder, { sessionDb }, path))).toMatchObject({ code: "listen-failed" });
      await using store = await openStore(sessionDb);
      const pages = await Array.fromAsync((await store.stream(SESSION_ID)).pages);
      expect(pages.flat().map(({ record }) => record.type)).toEqual(["turn/start"]);
    },
  );
});
