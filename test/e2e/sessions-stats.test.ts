import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { formatBytes } from "../../src/cli/doctor/units.ts";
import type { EventDraft } from "../../src/session/events.ts";
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
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

function stats(...args: readonly string[]): Promise<Finished> {
  return runHoldfast(["sessions", "stats", ...args]);
}

const START = Date.UTC(2026, 10, 30, 23, 59, 0);

function at(seconds: number, draft: EventDraft): EventDraft {
  return { ...draft, time: START + 1_000 * seconds };
}

const [FIRST, SECOND] = [
  { turn: 1, step: 1 },
  { turn: 1, step: 2 },
];
const USAGE = { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 600, reasoningTokens: 40 };
/** A Turn that goes on past midnight. */
const RECORDS = recordsOfDrafts([
  at(0, turnStart(1)),
  at(0, userMessage("Where is the milk?")),
  at(0, stepStart(FIRST)),
  at(1, { type: "llm/retry", data: { attempt: 1 } }),
  at(2, assistantMessage(FIRST, [callBlock("c1"), callBlock("c2", "go\u001b[2J")], { usage: USAGE })),
  at(2, toolCall(FIRST, "c1")),
  at(2, toolCall(FIRST, "c2", "go\u001b[2J")),
  at(2.25, toolResult(FIRST, "c1", "here")),
  at(5, toolResult(FIRST, "c2", "gone", { error: { name: "E", code: "X" } })),
  at(5, stepEnd(FIRST)),
  at(70, stepStart(SECOND)),
  at(
    70.5,
    assistantMessage(SECOND, [textBlock("Here")], { usage: { inputTokens: 2_000, outputTokens: 200 } }),
  ),
  at(71, stepEnd(SECOND)),
  at(71, turnEnd(1)),
  at(72, turnStart(2)),
]);

async function holding(name: string): Promise<{ folder: TempFolder; store: string }> {
  const folder = await TempFolder.create();
  const store = folder.at(name);
  await withStore(store, async (opened) => {
    await plant(opened, "aaa", RECORDS);
    await plant(opened, "b", RECORDS);
  });
  await Bun.write(folder.at("prices.json"), '{"demo/demo-1": {"input": 10, "output": 20, "cacheRead": 1}}');
  return { folder, store };
}

describe("stats", () => {
  test("are tables that a person reads", async () => {
    const { folder, store } = await holding("a.db");
    await using _ = folder;
    const before = await folderState(folder.path);
    // The beginning of an id is enough.
    const { code, stdout, stderr } = await runHoldfast(
      ["sessions", "stats", "aa", store, "--prices", folder.at("prices.json")],
      { env: { TZ: "America/New_York" } },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const bytes = RECORDS.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(stdout.replace(/^TYPE[\s\S]*?\n\n/m, "")).toBe(
      [
        "Session     aaa",
        `Events      15, ${formatBytes(bytes)}`,
        "Turns       2 (1 completed, 1 open)",
        "Steps       2, 1 retry",
        "Model time  2.5 s",
        "Tokens      3,000 in (600 read from and 0 written to caches), 300 out (40 reasoning)",
        "Cost        $0.0306",
        "Days in     America/New_York",
        "",
        "TOOL         CALLS  FAILED     P50     MAX",
        "go\\u001b[2J      1       1   3.0 s   3.0 s",
        "read_file        1       0  250 ms  250 ms",
        "",
        "MODEL        STEPS     IN  OUT  CACHE READ  CACHE WRITE  REASONING     COST",
        "demo/demo-1      2  3,000  300         600            0         40  $0.0306",
        "",
        "DAY         MODEL        STEPS     IN  OUT  CACHE READ  CACHE WRITE  REASONING     COST",
        "2026-11-30  demo/demo-1      2  3,000  300         600            0         40  $0.0306",
        "",
      ].join("\n"),
    );
    expect(stdout).toMatch(/^TYPE +EVENTS +SIZE\nassistant\/message +2 +[\d.]+ (B|KiB)\n/m);
    expect(await folderState(folder.path)).toEqual(before);
  });

  test.each(["a.db", "logs"])("of all sessions are their sum, as JSON: %s", async (name) => {
    const { folder, store } = await holding(name);
    await using _ = folder;
    const { code, stdout } = await stats("--all", store, "--json");
    expect(code).toBe(0);
    const tokens = {
      steps: 4,
      inputTokens: 6_000,
      outputTokens: 600,
      cacheReadTokens: 1_200,
      cacheWriteTokens: 0,
      reasoningTokens: 80,
    };
    expect(JSON.parse(stdout)).toMatchObject({
      sessions: 2,
      torn: 0,
      problems: [],
      events: 30,
      turns: { started: 4, ended: { completed: 2 } },
      steps: 4,
      retries: 2,
      modelMs: 5_000,
      tools: [
        { name: "go\u001b[2J", calls: 2, failures: 2, medianMs: 3_000, maxMs: 3_000 },
        { name: "read_file", calls: 2, failures: 0, medianMs: 250, maxMs: 250 },
      ],
      tokens,
      models: [{ model: "demo/demo-1", ...tokens }],
      // Days of programs are those of UTC.
      days: [{ day: "2026-11-30" }, { day: "2026-12-01" }],
    });
  });

  test("of a damaged session are those of what precedes the damage, which is told", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("a.db");
    await makeStore(store);
    damage(store, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
    const { code, stdout, stderr } = await stats("--all", store, "--json");
    expect(code).toBe(5);
    expect(stderr).toContain("The checksum of a row does not match");
    expect(JSON.parse(stdout)).toMatchObject({
      events: SEQ.message,
      problems: [{ id: "default", code: "corrupt" }],
    });
    expect((await stats("default", store)).stdout).toMatch(/^Not read to the end +1$/m);
  });
});

describe("refused are", () => {
  test.each([
    ["no session", () => [], 2, "No session is named"],
    ["a session beside --all", (store: string) => ["--all", "a", store], 2, "exclude each other"],
    ["a session that is not there", (store: string) => ["nope", store], 3, 'There is no session "nope"'],
    [
      "prices of another shape",
      (store: string) => ["a", store, "--prices", `${store}.json`],
      2,
      'at "demo/demo-1.input"',
    ],
  ] as const)("%s", async (_, args, exit, message) => {
    const { folder, store } = await holding("a.db");
    await using _folder = folder;
    await Bun.write(`${store}.json`, '{"demo/demo-1": {"input": "3", "output": 15}}');
    const { code, stdout, stderr } = await stats(...args(store));
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
    expect(stderr).toContain(message);
  });
});
