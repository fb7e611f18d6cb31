import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { runHoldfast } from "../fixtures/executable.ts";
import { plantTurns } from "../fixtures/few-sessions.ts";
import { withStore } from "../fixtures/stored-sessions.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";
import { TerminalProcess } from "../fixtures/terminal-process.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

const CLEAR = "\r\u001b[K";

/** What each command says of how far it is; `OUT` is a place that nothing lies at. */
const COMMANDS: readonly (readonly [command: string, args: string, said: string])[] = [
  ["copy", "--all --from a.db --to OUT.db", "1 of 2: one"],
  ["import", "all.jsonl --to OUT.db", "all.jsonl, session 1: one"],
  ["export", "a.db --all --redact -o OUT.jsonl", "1 of 2: one, 0 events read"],
  ["backup", "a.db --to OUT.db", "copying"],
  ["compact", "a.db --all --dry-run", "1 of 2: one"],
  ["stats", "a.db --all", "session 2: two"],
  ["verify", "a.db", "the store itself"],
];

let folder: TempFolder;

beforeAll(async () => {
  folder = await TempFolder.create();
  await withStore(folder.at("a.db"), async (store) => {
    await plantTurns(store, "one");
    await plantTurns(store, "two");
  });
  await runHoldfast(["sessions", "export", "a.db", "--all", "-o", "all.jsonl"], { cwd: folder.path });
});

afterAll(() => folder[Symbol.asyncDispose]());

describe.skipIf(process.platform === "win32")("how far a command is", () => {
  test.each(COMMANDS)(
    "stands in one line of the terminal that goes away: %s",
    async (command, args, said) => {
      const line = ["sessions", command, ...args.replace("OUT", `on-${command}`).split(" ")];
      await using terminal = new TerminalProcess(line, { cwd: folder.path });
      expect(await terminal.exited).toEqual({ code: 0 });
      const from = terminal.text.indexOf(CLEAR + said);
      const [, drawn = "", ...others] = terminal.text.slice(from).split(CLEAR);
      expect(drawn).toStartWith(said);
      // It is taken away before anything else follows.
      expect(drawn).not.toContain("\n");
      expect(others.length).toBeGreaterThan(0);
    },
  );

  test.each(COMMANDS)("is nowhere where stderr is no terminal: %s", async (command, args) => {
    const line = ["sessions", command, ...args.replace("OUT", `off-${command}`).split(" ")];
    const { code, stdout, stderr } = await runHoldfast(line, { cwd: folder.path });
    expect({ code, text: (stdout + stderr).includes("\u001b") }).toEqual({ code: 0, text: false });
  });
});
