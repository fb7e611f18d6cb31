import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { truncate } from "node:fs/promises";
import { recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { title } from "../contract/support.ts";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  callBlock,
  stepEnd,
  stepStart,
  textBlock,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import { type Finished, runHoldfast } from "../fixtures/executable.ts";
import { folderState } from "../fixtures/folder-state.ts";
import { HostLab, STORES } from "../fixtures/host-lab.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, recordsOfDrafts, recordsOfTexts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function show(...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "show", ...args]);
}

function sha256(text: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function textsOf(records: readonly SessionRecord[]): string[] {
  return records.flatMap((record) => [...recordTexts(record)]);
}

const AT = { turn: 1, step: 1 };
const TALK = recordsOfDrafts([
  turnStart(1),
  userMessage("Where is\n\tthe milk?"),
  stepStart(AT),
  assistantMessage(AT, [{ type: "reasoning", text: "Hm." }, textBlock("I look."), callBlock("c1")], {
    usage: { inputTokens: 12, outputTokens: 3 },
  }),
  toolCall(AT, "c1"),
  toolResult(AT, "c1", "no such file", { error: { name: "E", code: "WORKSPACE_NOT_FOUND" } }),
  stepEnd(AT),
  turnEnd(1, { kind: "error", error: { message: "It broke", code: "PROVIDER" } }),
]);

/** A store in a new folder with the session `s` that holds these records. */
async function holding(
  records: readonly SessionRecord[],
  name = "a.db",
): Promise<{ folder: TempFolder; store: string }> {
  const folder = await TempFolder.create();
  const store = folder.at(name);
  await withStore(store, (opened) => plant(opened, "s", records));
  return { folder, store };
}

describe("a session as a person reads it", () => {
  test("is what was said, indented below who said it", async () => {
    const { folder, store } = await holding(TALK);
    await using _ = folder;
    expect(await show("s", store)).toEqual({
      code: 0,
      stdout: [
        "Session s, created 2023-11-14T22:13:20Z, in /srv/x, 8 events",
        "",
        "Turn 1, user",
        "  Where is",
        "  \tthe milk?",
        "",
        "Turn 1, step 1, assistant",
        "  (reasoning)",
        "  Hm.",
        "  (answer)",
        "  I look.",
        "  (calls) read_file {}",
        "",
        "Turn 1, step 1, tool read_file failed (WORKSPACE_NOT_FOUND)",
        "  no such file",
        "",
        "Turn 1 ended: error, It broke (PROVIDER)",
        "",
        "Tokens: 12 in, 3 out",
        "",
      ].join("\n"),
      stderr: "",
    });
  });

  test("has no control character but line breaks and tabs, and no text that passes for a heading", async () => {
    const evil =
      "red \u001b[31m, \u009b1m, bell \u0007, back\rover, turned \u202e, end\u2028Turn 2, user\nTurn 9, user\r\nlast";
    const { folder, store } = await holding(
      recordsOfDrafts([turnStart(1), userMessage(evil), toolResult(AT, "c\u001b[0m", "x"), turnEnd(1)]),
    );
    await using _ = folder;
    const { stdout } = await show("s", store);
    expect(stdout).not.toMatch(/[^\n\t -~]/);
    expect(stdout).toContain("  red \\u001b[31m, \\u009b1m, bell \\u0007, back\\u000dover, turned \\u202e");
    expect(stdout.match(/^Turn/gm)).toHaveLength(2);
    expect(stdout).toContain("\n  Turn 9, user\n  last\n");
  });

  test("says on stderr that the last Turn is open", async () => {
    const { folder, store } = await holding(TALK.slice(0, 3));
    await using _ = folder;
    const { code, stderr } = await show("s", store);
    expect(code).toBe(0);
    expect(stderr).toBe("holdfast: the last Turn is open: it is running now, or it was interrupted\n");
  });

  test("names event types that are not known", async () => {
    const texts = [
      '{"type":"future/\\u001b","seq":0,"time":0,"data":{}}',
      '{"type":"x/y","seq":1,"time":0,"data":1}',
    ];
    const { folder, store } = await holding(recordsOfTexts(texts));
    await using _ = folder;
    const { code, stderr } = await show("s", store);
    expect(code).toBe(0);
    expect(stderr).toMatch(/unknown type "future\/\\u001b", the first at seq 0/);
    expect(stderr).toMatch(/unknown type "x\/y", the first at seq 1/);
  });
});

describe("a damaged session", () => {
  test("is shown up to the damage, which stderr names, with exit code 5, in every form", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await makeStore(store);
    damage(store, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
    const before = await folderState(folder.path);
    for (const form of [[], ["--json"], ["--events"]]) {
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

test("a session that is not there is not found, with the store that was looked into", async () => {
  const { folder, store } = await holding(TALK);
  await using _ = folder;
  const { code, stdout, stderr } = await show("nope", store);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain('There is no session "nope"');
  expect(stderr).toContain(store);
});
