import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { truncateSync } from "node:fs";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import { stepEnd, stepStart, textDelta, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { cleanEnvironment, executablePath } from "../fixtures/executable.ts";
import { FEW_STORES, fewSessions, linesOf, sessions } from "../fixtures/few-sessions.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TinyDisk } from "../fixtures/tiny-disk.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(60_000);

const TURNS = 120;
const EVENTS = TURNS * 33;
const DELTAS = 28;

/** A session of many Turns, each of some records, committed apart. */
async function plantLong(store: SessionPersistence, id: string): Promise<void> {
  const drafts = Array.from({ length: TURNS }, (_, k) => [
    turnStart(k + 1),
    userMessage(`Say ${k}.`, `${k}`),
    stepStart({ turn: k + 1, step: 1 }),
    ...Array.from({ length: DELTAS }, (_n, n) => textDelta({ turn: k + 1, step: 1 }, ` word ${n * k}`)),
    stepEnd({ turn: k + 1, step: 1 }),
    turnEnd(k + 1),
  ]).flat();
  await plant(store, id, recordsOfDrafts(drafts));
}

/** Events and digest of each session, as a check finds them. */
async function checked(folder: TempFolder, store: string): Promise<unknown[]> {
  const finished = await sessions(folder, "verify", store, "--json");
  expect(finished.code).toBe(0);
  return linesOf(finished)
    .filter(({ kind }) => kind === "session")
    .map(({ id, events, digest }) => [id, events, digest])
    .sort();
}

// Plain logs are compacted as framed ones are: test/store/jsonl/compactor.test.ts.
describe.each(FEW_STORES.slice(0, 2))("sessions compact of %s", (...kind) => {
  const [, store] = kind;

  test("says what would be saved, saves it with every event unchanged, and changes nothing a second time", async () => {
    await using folder = await fewSessions(kind, async (open) => {
      await plantLong(open, "long-one");
      await plantLong(open, "other");
    });
    const before = await checked(folder, store);
    const state = await folderState(folder.path);
    const dry = await sessions(folder, "compact", store, "long", "--dry-run");
    expect(dry).toMatchObject({ code: 0, stderr: "" });
    expect(dry.stdout).toMatch(
      /^would be compacted long-one: [\d.]+ \w+ to [\d.]+ \w+ \(\d+% less\), 3,960 events\n1 compacted: [\d.]+ \w+ to be saved; nothing was changed\nthe store would take /,
    );
    expect(await folderState(folder.path)).toEqual(state);
    const [session, summary] = linesOf(await sessions(folder, "compact", store, "long-one", "--json"));
    expect(session).toMatchObject({ kind: "session", id: "long-one", state: "compacted", events: EVENTS });
    expect(session?.["after"]).toBeLessThan(Number(session?.["before"]));
    expect(before).toContainEqual(["long-one", EVENTS, session?.["digest"]]);
    expect(summary).toMatchObject({ kind: "summary", dryRun: false, compacted: 1, refused: 0, failed: 0 });
    const all = await sessions(folder, "compact", store, "--all");
    // Who looks into a database with SQL would miss them.
    const note = /^holdfast: compacted events are not in the view session_events, .* compact --expand`\n$/;
    expect(all).toMatchObject({
      code: 0,
      stderr: kind[0] === "a database" ? expect.stringMatching(note) : "",
    });
    expect(all.stdout).toMatch(/^1 compacted, 1 unchanged: .* saved$/m);
    expect(await checked(folder, store)).toEqual(before);
    const again = await sessions(folder, "compact", store, "--all");
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toMatch(/^unchanged .*\nunchanged .*\n2 unchanged: 0 B saved\n/);
  });

  test("is refused while another process holds the store, and for names that are none", async () => {
    await using folder = await fewSessions(kind, async (open) => {
      await plantLong(open, "a1");
      await plant(open, "a2", recordsOfDrafts([turnStart(1)]));
    });
    const run = async (...args: readonly string[]) => (await sessions(folder, "compact", ...args)).code;
    await withStore(folder.at(store), async () => expect(await run(store, "--all")).toBe(6));
    await using empty = await TempFolder.create();
    await withStore(empty.at(store), async () => {
      for (const [command, ...args] of [
        ["compact", store, "--all"],
        ["rename", "default", "T", store],
        ["fork", "default", store],
      ] as const)
        expect([command, (await sessions(empty, command, ...args)).code]).toEqual([command, 6]);
    });
    const state = await folderState(folder.path);
    expect([await run(store), await run(store, "a1", "--all"), await run("no.db", "--all")]).toEqual([
      2, 2, 3,
    ]);
    const ambiguous = await sessions(folder, "compact", store, "a");
    expect(ambiguous.stderr).toContain("a1, a2");
    expect(await folderState(folder.path)).toEqual(state);
    const missing = await sessions(folder, "compact", store, "a1", "b", "--json");
    expect(missing.code).toBe(3);
    expect(linesOf(missing).map((line) => [line["kind"], line["id"]])).toEqual([
      ["missing", "b"],
      ["session", "a1"],
      ["summary", undefined],
    ]);
  });

  test("killed in the middle leaves each session whole, and the same command finishes", async () => {
    const ids = Array.from({ length: 4 }, (_, k) => `s${k}`);
    await using folder = await fewSessions(kind, async (open) => {
      for (const id of ids) await plantLong(open, id);
    });
    const before = await checked(folder, store);
    await using child = Bun.spawn([executablePath(), "sessions", "compact", store, "--all", "--json"], {
      cwd: folder.path,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "ignore"],
    });
    for await (const piece of child.stdout) {
      if (piece.length > 0) child.kill("SIGKILL");
    }
    await child.exited;
    expect(await checked(folder, store)).toEqual(before);
    const rest = linesOf(await sessions(folder, "compact", store, "--all", "--json"));
    expect(rest.at(-1)).toMatchObject({ refused: 0, failed: 0 });
    expect(await checked(folder, store)).toEqual(before);
    expect((await folderState(folder.path)).filter((line) => line.includes("draft"))).toEqual([]);
  });
});

test("sessions compact refuses a torn log and says what to do; the others are compacted, and a Host goes on with them", async () => {
  await using folder = await fewSessions(FEW_STORES[1], async (open) => {
    for (const id of ["a", "b"]) await plantLong(open, id);
  });
  const log = folder.at("logs/--srv-x--/a/session.jsonl.zstd");
  truncateSync(log, Bun.file(log).size - 5);
  const { code, stdout } = await sessions(folder, "compact", "logs", "--all");
  expect(code).toBe(5);
  expect(stdout).toMatch(/^refused a: The end of the log .*\n {2}hint: .*repair/);
  expect(stdout).toMatch(/^compacted b: .*3,960 events\n1 compacted, 1 refused: /m);
  await withStore(folder.at("logs"), async (store) => {
    await using preparation = await store.prepare("b");
    await using session = preparation.publish();
    await session.log.append({ type: "session/title", data: "more" });
  });
  const expanded = linesOf(await sessions(folder, "compact", "logs", "b", "--expand", "--json"));
  expect(expanded[0]).toMatchObject({ id: "b", state: "expanded", events: EVENTS + 1 });
});

test.skipIf(!TinyDisk.isAllowed)(
  "sessions compact says how many sessions it did not try after the disk was full, and how much room it needs (skipped where no disk can be mounted)",
  async () => {
    using disk = TinyDisk.mount();
    if (disk === undefined) throw new Error("a moment ago this was allowed");
    const store = `${disk.folder}/logs`;
    await withStore(store, async (open) => {
      for (const id of ["a", "b", "c"]) await plantLong(open, id);
    });
    disk.fill();
    await using folder = await TempFolder.create();
    const full = await sessions(folder, "compact", store, "--all");
    expect(full.code).toBe(1);
    expect(full.stdout).toMatch(
      /^failed \w: .*\n {2}hint: .* what the largest log takes beside the store\.\n1 failed, 2 not tried: /,
    );
    const [, summary] = linesOf(await sessions(folder, "compact", store, "--all", "--json"));
    expect(summary).toMatchObject({ kind: "summary", failed: 1, notTried: 2 });
    disk.free();
    expect((await sessions(folder, "compact", store, "--all")).stdout).toContain("3 compacted: ");
  },
);
