import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { damage, makeStore, rewriteBody, SEQ } from "../fixtures/damaged-store.ts";
import {
  assistantMessage,
  textBlock,
  toolResult,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";
import type { Environment } from "../fixtures/executable.ts";
import { AT } from "../fixtures/shown-session.ts";
import { plant, recordsOfDrafts, withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const ESCAPE = "\u001b";
const SHORT = recordsOfDrafts([
  turnStart(1),
  userMessage(
    "Where is the milk, and does anybody know why 漢字漢字漢字漢字漢字漢字漢字漢字 and שלום עולם שלום עולם are here?",
  ),
  assistantMessage(AT, [textBlock(`${"word ".repeat(60)}\u001b[31mred`)]),
  toolResult(AT, "c1", "👨‍👩‍👧".repeat(60)),
  turnEnd(1, { kind: "error", error: { message: "It broke for a reason that is long", code: "PROVIDER" } }),
]);
const LONG = recordsOfDrafts([
  turnStart(1),
  ...Array.from({ length: 3_000 }, (_, k) => userMessage(`line ${k} ${"x".repeat(1_000)}`)),
  turnEnd(1),
]);

describe.skipIf(process.platform === "win32")("on a terminal a session", () => {
  let folder: TempFolder;
  let store: string;

  beforeAll(async () => {
    folder = await TempFolder.create();
    store = folder.at("a.db");
    await withStore(store, async (opened) => {
      await plant(opened, "short", SHORT);
      await plant(opened, "long", LONG);
    });
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  function shownOn(env: Environment, args: readonly string[], columns = 80): TerminalProcess {
    return new TerminalProcess(["sessions", "show", ...args], { columns, env: { LESS: "FRX", ...env } });
  }

  test("goes to the pager, wrapped and with what stands out in bold", async () => {
    // What `cat` shows of an escape cannot be taken for one.
    await using terminal = shownOn({ PAGER: "cat -v" }, ["short", store]);
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text).toStartWith("^[[1mSession short^[[22m\r\n");
    expect(terminal.text).toContain("^[[1mUser^[[22m\r\n  Where is the milk");
    expect(terminal.text).toContain("\\u001b[31mred");
  });

  test("has no styles with NO_COLOR, and no pager with --no-pager", async () => {
    await using terminal = shownOn({ PAGER: "false", NO_COLOR: "1" }, ["short", store, "--no-pager"]);
    expect(await terminal.exited).toEqual({ code: 0 });
    expect(terminal.text).not.toContain(ESCAPE);
    expect(terminal.text).toContain("\nTotal: 1 Turn, 5 events\r\n");
  });

  test.each([24, 60, 200])("fits %d columns, and no line of a text begins one", async (columns) => {
    await using terminal = shownOn({ PAGER: "", NO_COLOR: "1" }, ["short", store], columns);
    expect(await terminal.exited).toEqual({ code: 0 });
    const lines = terminal.text.split("\r\n");
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(Math.min(columns, 100));
    const own = lines.filter((line) => /^\S/.test(line));
    expect(own.map((line) => line.split(/[ ,]/)[0])).toEqual([
      "Session",
      "Turn",
      "User",
      "Assistant",
      "Result",
      "Turn",
      "Total:",
    ]);
    expect(lines.join("").replaceAll(" ", "")).toContain("👨‍👩‍👧".repeat(60));
  });

  test.skipIf(Bun.which("less") === null)("can be left early; Ctrl-C is for the pager", async () => {
    await using terminal = shownOn({ PAGER: "less" }, ["long", store]);
    await terminal.sees(/line 0 x/);
    terminal.type("\x03");
    // It rings.
    await terminal.sees(/K\p{Cc}/u);
    terminal.type(" ");
    await terminal.sees(/line 2 x/);
    terminal.type("q");
    expect(await terminal.exited).toEqual({ code: 0 });
  });

  test("that is damaged is told to be, once the pager is gone", async () => {
    const broken = folder.at("broken.db");
    await makeStore(broken);
    damage(broken, (database) => rewriteBody(database, SEQ.message, "milk", "Milk", { fixChecksum: false }));
    await using terminal = shownOn({ HOLDFAST_PAGER: "cat; echo the pager ends" }, ["default", broken]);
    expect(await terminal.exited).toEqual({ code: 5 });
    expect(terminal.text).toMatch(/What do I need\?[\s\S]*the pager ends\r\nholdfast: The checksum of a row/);
  });

  test("is not shown where its pager cannot be run", async () => {
    await using terminal = shownOn({ PAGER: "/nowhere/pager" }, ["short", store]);
    expect(await terminal.exited).toEqual({ code: 1 });
    expect(terminal.text).toContain("holdfast: the pager cannot be run: /nowhere/pager");
  });
});
