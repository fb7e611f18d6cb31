import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFile, copyFile, rename, truncate } from "node:fs/promises";
import { recordTexts } from "../../src/session/records.ts";
import { title } from "../contract/support.ts";
import { hangingReply } from "../fixtures/conversation.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  stepStart,
  textBlock,
  textDelta,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { executablePath, type Finished, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TailProcess } from "../fixtures/tail-process.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function tail(...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "tail", ...args]);
}

const OPEN = "holdfast: the last Turn is open: it is running now, or it was interrupted\n";
const AT = { turn: 2, step: 1 };
const PIECES = Array.from({ length: 5_000 }, (_, k) => `${k} `);
/** A Turn that is longer than what is read at once. */
const LONG = recordsOfDrafts([
  turnStart(1),
  userMessage("Before"),
  turnEnd(1),
  turnStart(2),
  userMessage("Count\u001b[2J"),
  stepStart(AT),
  ...PIECES.map((piece) => textDelta(AT, piece)),
  assistantMessage(AT, [textBlock("Done")]),
]);

describe("the end of a session", () => {
  test.each(["a.db", "logs"])("is its last entries, as sessions show has them: %s", async (name) => {
    await using folder = await TempFolder.create();
    const store = folder.at(name);
    await withStore(store, (opened) => plant(opened, "s", LONG));
    const before = await folderState(folder.path);
    const expected = "\nTurn 2, 2023-11-14 22:13:20 (UTC)\n\nUser\n  Count\\u001b[2J\n\nAssistant\n  Done\n";
    expect(await tail("s", store, "-n", "2")).toEqual({ code: 0, stdout: expected, stderr: OPEN });
    const lines = (await tail("s", store, "-n", "2", "--json")).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { kind: "user", seq: 4, turn: 2 },
      { kind: "assistant", seq: 5_006, text: "Done" },
    ]);
    const { stdout } = await tail("s", store, "-n", "3", "--events");
    expect(stdout).toBe(
      LONG.flatMap((record) => [...recordTexts(record)])
        .slice(-3)
        .map((text) => `${text}\n`)
        .join(""),
    );
    expect((await tail("s", store, "-n", "0")).stdout).toBe("");
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.each(["a.db", "logs"])("shows an answer that goes on as far as it came: %s", async (name) => {
    await using folder = await TempFolder.create();
    const store = folder.at(name);
    const told = PIECES.join("").trimEnd();
    const open = `, 2023-11-14 22:13:20\n\nUser\n  Count\\u001b[2J\n\nAssistant, so far\n  ${told}\n`;
    await withStore(store, (opened) => plant(opened, "s", LONG.slice(0, -1)));
    for (const count of ["1", "3"]) {
      const { code, stdout, stderr } = await tail("s", store, "-n", count, "--full");
      expect({ code, stderr }).toEqual({ code: 0, stderr: OPEN });
      expect(stdout.replace(" (UTC)", "")).toEndWith(`\nTurn 2${open}`);
    }
    expect((await tail("s", store, "-n", "0")).stdout).toBe("");
    const { stdout, stderr } = await tail("s", store, "-n", "1", "--json");
    expect({ stderr, shown: JSON.parse(stdout) }).toMatchObject({ stderr: OPEN, shown: { kind: "user" } });
  });

  test("is that before the damage, which stderr names", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await makeStore(store);
    damage(store, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
    const expected = "\nTurn 1, 2023-11-14 22:13:20 (UTC)\n\nUser\n  What do I need?\n";
    for (const more of [[], ["-f"]]) {
      const { code, stdout, stderr } = await tail("default", store, ...more);
      expect({ code, stdout }).toEqual({ code: 5, stdout: expected });
      expect(stderr).toContain("The checksum of a row does not match");
    }
  });

  test("is found by the beginning of its id, if that is of one session only; a count must be a number", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await makeStore(store);
    await withStore(store, (opened) => plant(opened, "defer", LONG));
    expect(await tail("defa", store, "-n", "1")).toMatchObject({ code: 0, stderr: "" });
    expect(await tail("def", store, "-f")).toMatchObject({ code: 2, stdout: "" });
    expect(await tail("nope", store)).toMatchObject({ code: 3, stdout: "" });
    expect(await tail("default", store, "-n", "-1")).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("following", () => {
  test.each(DURABLE_STORES)(
    "shows each event once and in order, before, between and after Hosts: %s",
    async (kind) => {
      await using lab = await HostLab.on(kind, textReply("Hello"), hangingReply("One, ", "two"));
      await using follower = new TailProcess("sessions", "tail", "default", lab.store, "-f", "--events");
      await follower.stderr.waitFor(/waiting for the session "default"/);
      const first = await lab.start();
      await first.client.invoke("hi");
      await follower.stdout.waitFor(/"turn\/end"/);
      const hanging = first.client.invoke("again").catch(() => undefined);
      await follower.stdout.waitFor(/"two"/);
      await first.stop("SIGKILL");
      await hanging;
      // Nothing more comes before recovery closes the Turn.
      lab.server.script(textReply("Back"));
      const second = await lab.start();
      await follower.stdout.waitFor(/"kind":"interrupted"/);
      await second.client.invoke("still there?");
      await follower.stdout.waitFor(/"turn":3,"reason":\{"kind":"completed"/);
      const { code, stdout, stderr } = await follower.ended("SIGINT");
      expect(code).toBe(130);
      expect(stderr).toMatch(/^holdfast: waiting .*\n$/);
      const stored = await runHoldfast(["sessions", "show", "default", lab.store, "--events"]);
      expect(stdout).toBe(stored.stdout);
    },
  );

  test("shows no line before it is whole and none twice, and says so when what was shown is gone", async () => {
    await using folder = await TempFolder.create();
    const root = folder.at("logs");
    const records = recordsOfDrafts([0, 1, 2, 3, 4].map(title));
    await withStore(`jsonl:${root}`, (store) => plant(store, "s", records.slice(0, 2)), "none");
    const log = `${root}/--srv-x--/s/session.jsonl`;
    const { size } = await Bun.file(log).stat();
    await using follower = new TailProcess("sessions", "tail", "s", root, "-f", "--events", "-n", "1");
    await follower.stdout.waitFor(/"seq":1,/);
    const line = (seq: number) => records[seq]?.text ?? "";
    await appendFile(log, line(2).slice(0, 20));
    await appendFile(log, `${line(2).slice(20)}\n${line(3).slice(0, 30)}`);
    await follower.stdout.waitFor(/"seq":2,/);
    await appendFile(log, `${line(3).slice(30)}\n`);
    await follower.stdout.waitFor(/"seq":3,.*\n/);
    // Another file with the same events, as after a compaction.
    await copyFile(log, `${log}.new`);
    await rename(`${log}.new`, log);
    await appendFile(log, `${line(4)}\n`);
    expect(await follower.stdout.waitFor(/"seq":4,.*\n/)).toBe(
      [1, 2, 3, 4].map((k) => `${line(k)}\n`).join(""),
    );
    await truncate(log, size);
    const { code, stderr } = await follower.ended();
    expect(code).toBe(1);
    expect(stderr).toContain("The log is shorter than what was shown of it");
  });

  test.skipIf(process.platform === "win32")("ends well when its reader has seen enough", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await withStore(store, (opened) => plant(opened, "s", LONG));
    const piped = '{ "$0" sessions tail s "$1" -f --events -n 6000; echo "exit $?" >&2; } | head -n 1';
    const { stderr } = await runCommand(["sh", "-c", piped, executablePath(), store]);
    expect(stderr).toBe("exit 0\n");
  });
});
