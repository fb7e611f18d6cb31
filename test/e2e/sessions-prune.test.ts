import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { cleanEnvironment, executablePath } from "../fixtures/executable.ts";
import {
  FEW_STORES,
  type FewStore,
  fewSessions,
  linesOf,
  listed,
  plantTurns,
  sessions,
} from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { withStore } from "../fixtures/stored-sessions.ts";
import type { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const HOUR = 3_600_000;

/** Sessions that are named by their age in hours. */
function aged(kind: FewStore, ...hours: readonly number[]): Promise<TempFolder> {
  return fewSessions(kind, async (open) => {
    for (const age of hours) await plantTurns(open, `h${age}`, { time: Date.now() - age * HOUR });
  });
}

// What is written in frames and what is not is deleted in the same way.
describe.each(FEW_STORES.slice(0, 2))("sessions prune of %s", (...kind) => {
  const [, store] = kind;

  test("deletes what is older than is said, the oldest first, and shows it before", async () => {
    await using folder = await aged(kind, 1, 40, 30, 2000);
    const before = await folderState(folder.path);
    const dry = await sessions(folder, "prune", "--older-than", "1d", "--dry-run", store);
    expect(dry).toMatchObject({ code: 0, stderr: "" });
    expect(dry.stdout).toMatch(
      /^to delete:\nID .*\nh2000 {2}Say 0\. .*\nh40 {4}.*\nh30 {4}.*\n3 sessions to delete from (sqlite|jsonl):.*; nothing was changed\n$/,
    );
    expect(await folderState(folder.path)).toEqual(before);
    const gone = linesOf(await sessions(folder, "prune", "--older-than", "1w", "--yes", "--json", store));
    expect(gone.map(({ kind: what, id }) => [what, id])).toEqual([
      ["session", "h2000"],
      ["deleted", "h2000"],
      ["summary", undefined],
    ]);
    expect(await listed(folder, store)).toEqual(["h1 ok 3", "h30 ok 3", "h40 ok 3"]);
  });

  test("killed in the middle of a purge leaves each session whole or gone", async () => {
    await using folder = await fewSessions(kind, async (open) => {
      for (let k = 0; k < 12; k += 1) await plantTurns(open, `s${k}`, { turns: 50 });
    });
    const args = ["sessions", "prune", "--older-than", "1d", "--purge", "--yes", "--json", store];
    await using child = Bun.spawn([executablePath(), ...args], {
      cwd: folder.path,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    let output = "";
    for await (const piece of child.stdout) {
      output += new TextDecoder().decode(piece);
      if (output.includes('"deleted"')) child.kill("SIGKILL");
    }
    await child.exited;
    const left = await listed(folder, store);
    expect(left.filter((line) => !line.endsWith(" ok 150"))).toEqual([]);
    const told = [...output.matchAll(/"kind":"deleted","id":"(\w+)"/g)].map(([, id]) => `${id} ok 150`);
    expect(told.length).toBeGreaterThan(0);
    expect(left.filter((line) => told.includes(line))).toEqual([]);
    expect((await sessions(folder, ...args.slice(1))).code).toBe(0);
    expect(await listed(folder, store)).toEqual([]);
  });
});

test("sessions prune keeps as many as are to stay, those that were active last", async () => {
  await using folder = await aged(FEW_STORES[0], 1, 40, 30, 2000, 50);
  const prune = async (keep: string) =>
    linesOf(
      await sessions(folder, "prune", "--older-than", "24h", "--keep", keep, "--dry-run", "--json", "a.db"),
    ).flatMap(({ kind: what, id }) => (what === "session" ? [id] : []));
  expect(await prune("1")).toEqual(["h2000", "h50", "h40", "h30"]);
  expect(await prune("3")).toEqual(["h2000", "h50"]);
  const purged = await sessions(
    folder,
    "prune",
    "--older-than",
    "24h",
    "--keep",
    "4",
    "--yes",
    "--purge",
    "a.db",
  );
  expect(purged.stdout).toEndWith("deleted h2000: for good\n1 deleted from sqlite:a.db\n");
});

test("sessions prune needs a yes, and a store that nobody writes", async () => {
  await using folder = await aged(FEW_STORES[0], 40);
  expect((await sessions(folder, "prune", "--older-than", "1d", "a.db")).code).toBe(2);
  const held = () => sessions(folder, "prune", "--older-than", "1d", "--yes", "a.db");
  await withStore(folder.at("a.db"), async () => expect((await held()).code).toBe(6));
  expect(await listed(folder, "a.db")).toEqual(["h40 ok 3"]);
});

test("sessions prune asks nothing, and is done, where there is nothing to delete", async () => {
  await using folder = await aged(FEW_STORES[0], 1);
  expect(await sessions(folder, "prune", "--older-than", "1d", "a.db")).toEqual({
    code: 0,
    stdout: "0 sessions to delete from sqlite:a.db; nothing was changed\n",
    stderr: "",
  });
});

test("sessions prune leaves alone what it cannot tell the age of", async () => {
  await using folder = await fewSessions(FEW_STORES[2], (open) => plantTurns(open, "a"));
  appendFileSync(
    folder.at("logs/--srv-x--/a/session.jsonl"),
    'no event\n{"type":"turn/end","seq":3,"time":1,"data":{}}\n',
  );
  const { stdout, stderr } = await sessions(folder, "prune", "--older-than", "1d", "--yes", "logs");
  expect(stdout).toBe("0 deleted from jsonl:logs\n");
  expect(stderr).toStartWith("holdfast: a is left alone, since its age is not known: ");
});

test("sessions prune refuses ages and numbers that are none", async () => {
  await using folder = await fewSessions(FEW_STORES[0], (open) => plantTurns(open, "a"));
  for (const args of [["5"], ["1y"], ["1d", "--keep", "few"]])
    expect((await sessions(folder, "prune", "a.db", "--older-than", ...args)).code).toBe(2);
  expect((await sessions(folder, "prune", "a.db")).code).toBe(2);
});
