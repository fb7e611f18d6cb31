import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join, relative } from "node:path";
import { run } from "../../src/cli/program.ts";
import { UsageError } from "../../src/host/usage.ts";
import { rejectionOf } from "../contract/support.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

/** What is said of a command line that is a mistake; nothing is run. */
async function mistake(...args: readonly string[]): Promise<readonly [string, string]> {
  const error = await rejectionOf(run(args));
  if (!(error instanceof UsageError)) throw error;
  return [error.message, error.hint];
}

describe("a word that a command does not take", () => {
  test.each([
    [["chat", "my.db"], "Name the store with --session-db my.db."],
    [["serve", "--port", "0", "my notes.db"], "Name the store with --session-db 'my notes.db'."],
    [["config", "jsonl:logs"], "Name the store with --session-dir logs."],
    [["chat", "data/agent"], "A store is named with a flag: --session-dir data/agent"],
  ])("is told of with the flag for a store, where it can be one: %j", async (args, hint) => {
    expect(await mistake(...args)).toEqual(["There is 1 argument, and none can be given", hint]);
  });

  test("that names neither is told of with the flags for both, a store and a session", async () => {
    const [, hint] = await mistake("chat", "default");
    expect(hint).toStartWith(
      "A store is named with --session-db PATH or --session-dir ROOT, a session with --session-id ID. `holdfast chat --help`",
    );
    const keys = ["abcdefghijklmnop/qrstuvwxyz0123456789+", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"];
    for (const word of ["http://127.0.0.1/x", ...keys, "pw/Tr0ub4dor"])
      expect((await mistake("chat", word))[1]).toBe(hint);
  });

  test.each([
    "sk-ant-api03-abc.db",
    "keys/sk-ant-api03-abc.db",
    "sqlite:pw/Tr0ub4dor",
    "jsonl:sk-ant-api03-abc",
    "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY.db",
  ])("and can be a store is not repeated where it may be a secret: %s", async (word) => {
    const flags = "Name the store with --session-db PATH or --session-dir ROOT.";
    expect((await mistake("serve", word))[1]).toBe(flags);
    expect((await mistake("invoke", "hello", word))[1]).toBe(flags);
  });

  test("is no store where one is named already", async () => {
    const [, hint] = await mistake("serve", "--session-db", "a.db", "b.db");
    expect(hint).toBe("`holdfast serve --help` says how it is used.");
  });
});

describe("a text of which the quotes were left out", () => {
  test.each([
    [["invoke", "hello", "world"], 2, "'hello world'"],
    [["invoke", "--url", "http://127.0.0.1:1", "What", "is", "in", "a.txt?"], 4, "'What is in a.txt?'"],
    [["sessions", "search", "--session-db", "a.db", "buy", "some", "milk"], 3, "'buy some milk'"],
    [["invoke", "the", "key", "sk-ant-1234"], 3, "'TEXT'"],
    [["invoke", "hi", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"], 2, "'TEXT'"],
    [["invoke", "hi", "pw/Tr0ub4dor!"], 2, "'TEXT'"],
    [["invoke", "Explain", "src/routes/app.ts,", "24/7"], 3, "'Explain src/routes/app.ts, 24/7'"],
    [["invoke", "word ".repeat(20), "end"], 2, "'TEXT'"],
    [["invoke", "two\nlines", "end"], 2, "'TEXT'"],
  ])("is shown with them, unless it is long or may hold a secret: %j", async (args, count, text) => {
    expect(await mistake(...args)).toEqual([
      `The text must be one argument, and there are ${count}`,
      `Put quotes around it: ${text}`,
    ]);
  });

  test("may hold a path that looks like a secret, where something lies there", async () => {
    const there = relative(".", join(import.meta.dir, "../../docs/decisions/0001-records-as-texts.md"));
    const [, hint] = await mistake("invoke", "Read", `${there}!`);
    expect(hint).toBe(`Put quotes around it: 'Read ${there}!'`);
    expect((await mistake("invoke", "Read", there.replace("0001", "9999")))[1]).toEndWith(": 'TEXT'");
  });

  test("does not take the store beside it for a part of it", async () => {
    await using folder = await TempFolder.create();
    const store = folder.at("agent.db");
    // Something in it, or nothing is written.
    new Database(store).run("CREATE TABLE t (x)");
    const quotes = "Put quotes around it: 'Buy milk'";
    const title = ["The title must be one argument, and there are 2", quotes] as const;
    expect(await mistake("sessions", "rename", "s", "Buy", "milk", store)).toEqual(title);
    expect(await mistake("sessions", "rename", store, "s", "Buy", "milk")).toEqual(title);
    const flag = `Name the store with --session-db ${store}.`;
    const text = "The text must be one argument, and there are 2";
    expect(await mistake("invoke", "Buy", "milk", store)).toEqual([text, `${flag} ${quotes}`]);
    const [message, hint] = await mistake("invoke", store, "hello");
    expect([message, hint]).toEqual(["There are 2 arguments, and at most 1 can be given", flag]);
  });
});
