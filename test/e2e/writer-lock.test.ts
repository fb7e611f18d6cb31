import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { runHoldfast } from "../fixtures/executable.ts";
import { HostProcess } from "../fixtures/host-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** Flag, place of the store, and of the name of its owner. */
const KINDS = [
  ["--session-db", "data/store.db", "data/store.db.owner"],
  ["--session-dir", "data/logs", "data/logs/.holdfast.owner"],
] as const;

async function withLinks(store: string): Promise<TempFolder> {
  const folder = await TempFolder.create();
  await mkdir(folder.at("data"));
  await symlink(store, folder.at("link"));
  await symlink(".", folder.at("linked"));
  return folder;
}

describe.each(KINDS)("the executable with %s", (flag, store, ownerFile) => {
  test("refuses a second Host under every name of the store, and goes on when the first was killed", async () => {
    await using folder = await withLinks(store);
    const names = [folder.at(store), store, `./data/..//${store}/`, "link", folder.at("linked", store)];
    await using first = await HostProcess.start({ args: [flag, "link"], cwd: folder.path });
    for (const name of names) {
      const refused = await runHoldfast(["serve", "--port", "0", flag, name], { cwd: folder.path });
      expect({ name, code: refused.code, stdout: refused.stdout }).toEqual({ name, code: 6, stdout: "" });
      expect(refused.stderr).toContain(`in use by process ${first.pid}, which started at `);
    }
    await first.client.invoke("say hello");
    await first.stop("SIGKILL");
    // A pid that was used again does not look alive.
    await writeFile(
      folder.at(ownerFile),
      JSON.stringify({ pid: process.pid, startedAt: "1970-01-01T00:00:00.000Z" }),
    );
    for (const [index, name] of ["link", folder.at("linked", store)].entries()) {
      await using next = await HostProcess.start({ args: [flag, name], cwd: folder.path });
      expect((await next.client.invoke("say again")).body).toMatchObject({ turn: index + 2 });
      await next.stop("SIGKILL");
    }
  });

  test("is owned by one of eight Hosts that start at once on a fresh store", async () => {
    await using folder = await TempFolder.create();
    await using stack = new AsyncDisposableStack();
    const starts = Array.from({ length: 8 }, () => HostProcess.start({ args: [flag, folder.at(store)] }));
    const results = await Promise.allSettled(starts);
    for (const result of results) if (result.status === "fulfilled") stack.use(result.value);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toHaveLength(7);
    for (const { reason } of refused) expect(String(reason)).toMatch(/"code":6[\s\S]*The store is in use by/);
  });
});
