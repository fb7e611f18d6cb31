import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { truncate } from "node:fs/promises";
import type { EventDraft } from "../../src/session/events.ts";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  stepEnd,
  stepStart,
  textBlock,
  textDelta,
  toEvents,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { executablePath, runCommand } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab, STORES } from "../fixtures/host-lab.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { AT, holding, show, TALK } from "../fixtures/shown-session.ts";
import { plant, recordsOfDrafts, textsOf, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

describe("a damaged session", () => {
  test("is shown up to the damage, which stderr names, with exit code 5, in every form", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await makeStore(store);
    damage(store, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
    const before = await folderState(folder.path);
    for (const form of [[], ["--json"], ["--events"], ["--turn", "1"]]) {
      const { code, stdout, stderr } = await show("default", store, ...form);
      expect(code).toBe(5);
      expect(stdout).toContain("What do I need?");
      expect(stderr).toMatch(
        /^holdfast: The checksum of a row does not match.*\n {2}where: .*seq 8\n {2}hint: .*\n$/,
      );
      if (form[0] === "--events") expect(stdout.split("\n")).toHaveLength(SEQ.message + 1);
      if (form[0] === "--json") {
        expect(JSON.parse(stdout)).toMatchObject({
          events: SEQ.message,
          closers: [],
          problem: { code: "corrupt", place: { seq: SEQ.message } },
          transcript: [{ kind: "user" }],
        });
      }
    }
    expect(await folderState(folder.path)).toEqual(before);
  });

  test("is not the same as one whose last record was never fully written", async () => {
    const { folder } = await holding([]);
    await using _ = folder;
    const root = folder.at("logs");
    await withStore(
      `jsonl:${root}`,
      (store) => plant(store, "s", recordsOfDrafts([title(0), title(1)])),
      "none",
    );
    const log = `${root}/--srv-x--/s/session.jsonl`;
    await truncate(log, (await Bun.file(log).stat()).size - 2);
    for (const form of [[], ["--json"], ["--events"]]) {
      const { code, stdout, stderr } = await show("s", root, ...form);
      expect(code).toBe(0);
      expect(stderr).toContain("was never fully written");
      if (form[0] === "--json") expect(JSON.parse(stdout)).toMatchObject({ events: 1, torn: true });
      if (form[0] === "--events") expect(stdout.split("\n")).toHaveLength(2);
    }
  });
});

describe("--json", () => {
  test("is one object, with what would close an open Turn", async () => {
    const { folder, store } = await holding(TALK.slice(0, 5));
    await using _ = folder;
    const { code, stdout } = await show("s", store, "--json");
    expect(code).toBe(0);
    expect(stdout.match(/\n/g)).toHaveLength(1);
    // What is known when all was read stands behind the transcript.
    expect(Object.keys(JSON.parse(stdout)).slice(0, 3)).toEqual(["header", "transcript", "events"]);
    expect(JSON.parse(stdout)).toEqual({
      header: { version: 0, id: "s", createdAt: 1_700_000_000_000, cwd: "/srv/x", delegationDepth: 0 },
      events: 5,
      digest: sha256(textsOf(TALK.slice(0, 5)).join("\n")),
      torn: false,
      unknownTypes: [],
      closers: [
        expect.objectContaining({ type: "tool/result", seq: 5 }),
        expect.objectContaining({ type: "step/end", seq: 6 }),
        expect.objectContaining({ type: "turn/end", seq: 7 }),
      ],
      usage: {
        inputTokens: 12,
        outputTokens: 3,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
      },
      transcript: [
        { kind: "user", seq: 1, turn: 1, text: "Where is\n\tthe milk?" },
        expect.objectContaining({ kind: "assistant", seq: 3, reasoning: "Hm.", text: "I look." }),
      ],
    });
  });

  test.each(STORES)("has the transcript that a Host serves, while it runs: %s", async (kind) => {
    await using lab = await HostLab.on(kind, textReply("Hello \u{1F44B}\u001b[0m"));
    const host = await lab.start();
    await host.client.invoke("hi");
    const { transcript, nextSeq } = await host.client.read();
    const finished = await show("default", lab.store, "--json");
    expect(finished).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(finished.stdout)).toMatchObject({ events: nextSeq, transcript });
  });
});

describe("a part of a session", () => {
  const PIECES = Array.from({ length: 700 }, (_, k) => textDelta(AT, `${k} `));
  const LONG = recordsOfDrafts([
    turnStart(1),
    userMessage("Count"),
    stepStart(AT),
    ...PIECES,
    assistantMessage(AT, [textBlock("Done")]),
    stepEnd(AT),
    turnEnd(1),
    turnStart(2),
    userMessage("Again"),
    turnEnd(2),
  ]);

  test.each(["a.db", "logs"])("has the events from one seq to another, in every form: %s", async (name) => {
    const { folder, store } = await holding(LONG, name);
    await using _ = folder;
    const texts = textsOf(LONG);
    const part = (await show("s", store, "--events", "--from", "100", "--to", "650")).stdout;
    expect(part).toBe(`${texts.slice(100, 651).join("\n")}\n`);
    const json = JSON.parse((await show("s", store, "--json", "--from", "650", "--to", "704")).stdout);
    expect(json).toMatchObject({
      header: { id: "s" },
      range: { from: 650, to: 704 },
      events: 55,
      digest: sha256(texts.slice(650, 705).join("\n")),
      closers: [],
      transcript: [{ kind: "assistant", seq: 703, text: "Done" }],
    });
    const { stdout, stderr } = await show("s", store, "--from", "703");
    expect(stderr).toBe("");
    expect(stdout).toContain(
      "\n  shown    events from 703 on\n\nTurn 1\n\nAssistant\n  Done\n\nTurn 1 ended\n",
    );
    expect(stdout).toContain("\nTurn 2, 2023-11-14 22:13:20\n\nUser\n  Again\n");
    expect((await show("s", store, "--events", "--from", "708", "--to", "708")).stdout).toBe(
      `${texts[708]}\n`,
    );
    expect(stdout).toEndWith("\nShown: 6 events of 2 Turns\n");
    const stderrOfNone = "holdfast: there is no event from seq 709 on: the last one has seq 708\n";
    const none = { code: 0, stdout: "", stderr: stderrOfNone };
    expect(await show("s", store, "--events", "--from", "709")).toEqual(none);
    expect(await show("s", store, "--from", "709")).toEqual({
      ...none,
      stdout: expect.stringMatching(/\n {2}shown {4}events from 709 on\n\nShown: 0 events\n$/),
    });
  });

  test.each(["a.db", "logs"])("is a Turn, or some, by number, in every form: %s", async (name) => {
    const { folder, store } = await holding(LONG, name);
    await using _ = folder;
    const texts = textsOf(LONG);
    const first = await show("s", store, "--turn", "1");
    expect(first.stderr).toBe("");
    expect(first.stdout).toContain("\n  shown    events from 0 to 705\n\nTurn 1, 2023-11-14 22:13:20\n");
    expect(first.stdout).toEndWith("\nShown: 706 events of 1 Turn\n");
    expect((await show("s", store, "--events", "--turn", "2")).stdout).toBe(
      `${texts.slice(706).join("\n")}\n`,
    );
    const both = JSON.parse((await show("s", store, "--json", "--turn", "1..2")).stdout);
    expect(both).toMatchObject({ range: { from: 0 }, events: 709, transcript: [{}, {}, {}] });
    for (const [turn, missing] of [
      ["0", 0],
      ["3", 3],
      ["2..7", 7],
    ] as const) {
      const { code, stdout, stderr } = await show("s", store, "--turn", turn);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toBe(
        `holdfast: The session "s" has no Turn ${missing}\n  hint: It has the Turns 1 to 2.\n`,
      );
    }
  });

  test("is a Turn that goes on, and what stands between two Turns is of the first one", async () => {
    const { folder, store } = await holding(
      recordsOfDrafts([title(0), turnStart(3), userMessage("Hi"), turnEnd(3), title(1), turnStart(4)]),
    );
    await using _ = folder;
    await withStore(store, (opened) => plant(opened, "empty", recordsOfDrafts([title(0)])));
    const events = async (turn: string) => (await show("s", store, "--events", "--turn", turn)).stdout;
    expect((await events("3")).match(/"seq":\d+/g)?.join()).toBe('"seq":1,"seq":2,"seq":3,"seq":4');
    expect((await events("4")).match(/"seq":\d+/g)?.join()).toBe('"seq":5');
    expect((await show("empty", store, "--turn", "1")).stderr).toContain("hint: It has none yet.");
  });

  test("is given by whole numbers, the first one first", async () => {
    for (const range of [
      ["--from", "-1"],
      ["--to", "x"],
      ["--from", "9", "--to", "8"],
      ["--turn", "2..1"],
      ["--turn", "1", "--to", "8"],
    ]) {
      const { code, stdout, stderr } = await show("s", "a.db", ...range);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/--from|--to|--turn/);
    }
  });
});

test("the beginning of an id is enough where it is the only one", async () => {
  const { folder, store } = await holding(TALK);
  await using _ = folder;
  await withStore(store, async (opened) => {
    await plant(opened, "alpha", TALK);
    await plant(opened, "alpine", TALK);
  });
  expect((await show("alph", store)).stdout).toStartWith("Session alpha\n");
  const { code, stdout, stderr } = await show("alp", store);
  expect([code === 0, stdout]).toEqual([false, ""]);
  expect(stderr).toContain("alpha, alpine");
});

/** Runs a command into a file, and prints how many bytes it held at most. Of a large process its children seem large. */
const MEASURE = `
  const [, file, ...command] = process.argv;
  const child = Bun.spawn(command, { stdio: ["ignore", Bun.file(file), "ignore"] });
  await child.exited;
  console.log(child.resourceUsage().maxRSS);
`;

test("a long session is shown while it is read, in bounded memory", async () => {
  await using folder = await TempFolder.create();
  const store = folder.at("a.db");
  await withStore(store, async (opened) => {
    let seq = 0;
    const put = (drafts: readonly EventDraft[]) => {
      const records = recordsOf(toEvents(drafts, 0, seq));
      seq += drafts.length;
      return plant(opened, "s", records);
    };
    for (let turn = 1; turn <= 500; turn += 10) {
      const turns = Array.from({ length: 10 }, (_, k) => turn + k).flatMap((number) => [
        turnStart(number),
        userMessage(`question ${number}`),
        toolResult({ turn: number, step: 1 }, `c${number}`, "x".repeat(250_000)),
        turnEnd(number),
      ]);
      await put(turns);
    }
    await put([{ type: "session/title", data: { title: "At the end" } }]);
  });
  for (const form of [[], ["--full"], ["--json"]]) {
    const command = [executablePath(), "sessions", "show", "s", store, ...form];
    const { stdout } = await runCommand([
      process.execPath,
      "-e",
      MEASURE,
      folder.at(`out${form.join("")}`),
      ...command,
    ]);
    expect(Number(stdout) / 1_048_576).toBeWithin(20, 300);
  }
  const shown = await Bun.file(folder.at("out")).text();
  expect(shown).toStartWith("Session s\n  title    At the end\n");
  expect(shown).toContain("\n(248,000 characters left out; --full shows all)\n");
  expect(shown).toContain("Total: 500 Turns, 2,001 events");
  expect(Bun.file(folder.at("out--full")).size).toBeGreaterThan(125_000_000);
});

test("a session that is not there is not found, with the store that was looked into", async () => {
  const { folder, store } = await holding(TALK);
  await using _ = folder;
  const { code, stdout, stderr } = await show("nope", store);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain('There is no session "nope"');
  expect(stderr).toContain(store);
});
