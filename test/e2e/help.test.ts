import { describe, expect, setDefaultTimeout, test } from "bun:test";
import packageJson from "../../package.json" with { type: "json" };
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** Every flag that serve takes. */
const SERVE_FLAGS = [
  ...["--config", "--session-db", "--session-dir", "--jsonl-encoding", "--session-id", "--fork-from", "--at"],
  ...["--provider", "--model", "--base-url", "--api-key-env", "--reasoning-effort", "--temperature"],
  ...["--max-tokens", "--stop", "--extra-body", "--connect-timeout", "--idle-timeout", "--request-timeout"],
  ...["--retries", "--max-steps", "--tool-timeout", "--workspace", "--system-prompt-file", "--chunk-window"],
  ...["--drain-timeout", "--host", "--port", "--listen", "--token-file", "--max-queue"],
];

describe("help", () => {
  test.each([["--help"], ["-h"], ["help"]])(
    "of the program with %s: the commands, on stdout",
    async (word) => {
      const { code, stdout, stderr } = await runHoldfast([word]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^Usage: holdfast /m);
      expect(stdout).toMatch(/^ {2}serve /m);
      expect(stdout).toMatch(/^ {2}invoke /m);
      expect(stdout).toMatch(/^ {2}chat /m);
      expect(stdout).toMatch(/^ {2}sessions /m);
      expect(stdout).toMatch(/^ {2}doctor /m);
    },
  );

  test.each([[["serve", "--help"]], [["help", "serve"]]])("of serve with %p: every flag", async (args) => {
    const { code, stdout, stderr } = await runHoldfast(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const flag of SERVE_FLAGS) {
      expect(stdout).toContain(`  ${flag} <`);
      expect(stdout).toContain(`HOLDFAST_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`);
    }
    expect(stdout.match(/^ {2}--[a-z-]+/gm)?.map((flag) => flag.trim())).toEqual(SERVE_FLAGS);
  });

  test("of invoke: its flags and an example", async () => {
    const { code, stdout } = await runHoldfast(["invoke", "--help"]);
    expect(code).toBe(0);
    for (const word of ["<text>", "--url", "--provider", "--model", "HOLDFAST_URL", "--json", "Example"]) {
      expect(stdout).toContain(word);
    }
  });

  test("of chat: the flags of an agent, none of a listener, and an example", async () => {
    const { code, stdout } = await runHoldfast(["chat", "--help"]);
    expect(code).toBe(0);
    const flags = SERVE_FLAGS.slice(0, SERVE_FLAGS.indexOf("--host"));
    expect(stdout.match(/^ {2}--[a-z-]+/gm)?.map((flag) => flag.trim())).toEqual(flags);
    for (const word of ["HOLDFAST_SESSION_DB", "/help", "Example"]) expect(stdout).toContain(word);
  });

  test.each([[["--help"]], [["sessions", "--help"]]])(
    "keeps to 80 columns in a pipe, and has no colours there: %p",
    async (args) => {
      const { stdout } = await runHoldfast(args);
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
      expect(stdout).not.toContain("\u001b");
      if (args.length > 1) expect(stdout.match(/^\S.*:$/gm)).toContain("Check and mend:");
    },
  );

  test("may be left by its reader: that is no error", async () => {
    const script = '{ "$0" serve --help; echo "code $?" >&2; } | true';
    const { stderr } = await runCommand(["sh", "-c", script, executablePath()]);
    expect(stderr).toBe("code 0\n");
  });
});

test.each([["--version"], ["-V"]])("%s prints the version alone", async (flag) => {
  const finished = await runHoldfast([flag]);
  expect(finished).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

describe("a mistake is told on stderr with exit code 2:", () => {
  test.each([
    [
      "an unknown command, with the one that was meant",
      ["srve"],
      /^holdfast: There is no command "srve"\n {2}hint: Did you mean `holdfast serve`\?\n$/,
    ],
    [
      "an unknown flag, with the one that was meant",
      ["serve", "--prot", "1"],
      /^holdfast: There is no flag --prot\n {2}hint: Did you mean --port\?\n$/,
    ],
    [
      "a command without the one above it",
      ["verify", "--session-db", "a.db"],
      /no command "verify"\n {2}hint: Did you mean `holdfast sessions verify`\?/,
    ],
    [
      "a command that is typed as a flag",
      ["--sessions"],
      /There is no flag --sessions\n {2}hint: Did you mean `holdfast sessions`\?/,
    ],
    [
      "a command of a group that is typed as a flag",
      ["sessions", "--search", "milk"],
      /There is no flag --search\n {2}hint: Did you mean `holdfast sessions search`\?/,
    ],
    [
      "a flag of commands that a command is named like",
      ["--config", "a.json"],
      /There is no flag --config\n {2}hint: `holdfast --help`/,
    ],
    [
      "a value that cannot be used, with the command that was run",
      ["sessions", "fork", "s", "a.db", "--session-id", ""],
      /is empty\n {2}hint: `holdfast sessions fork --help` lists the flags\.\n$/,
    ],
    [
      "an unknown flag of the program",
      ["--verbose"],
      /There is no flag --verbose\n {2}hint: `holdfast --help`/,
    ],
    [
      "a flag without its value",
      ["serve", "--port"],
      /^holdfast: --port needs a value\n {2}hint: `holdfast serve --help`/,
    ],
    [
      "a flag in the place of a value",
      ["invoke", "--session-db", "--json", "say x"],
      /^holdfast: --session-db has no value: --json follows it\n {2}hint: .* given with =, as --session-db=--json\.\n$/,
    ],
    ["a word too many", ["serve", "now"], /^holdfast: There is 1 argument, and none can be given/],
    [
      "a text without quotes, with them",
      ["invoke", "hello", "world"],
      /^holdfast: The text must be one argument, and there are 2\n {2}hint: Put quotes around it: 'hello world'\n$/,
    ],
    [
      "a value that is none of those that there are",
      ["completions", "tcsh"],
      /^holdfast: <shell> cannot be "tcsh": it must be bash, zsh or fish\n/,
    ],
    ["an argument that is missing", ["sessions", "tail"], /^holdfast: <id> is missing\n/],
    ["a flag that is missing", ["sessions", "prune", "a.db"], /^holdfast: --older-than is missing\n/],
    [
      "flags that exclude each other",
      ["sessions", "tail", "s", "a.db", "--json", "--events"],
      /^holdfast: --json and --events exclude each other\n/,
    ],
    [
      "an unknown command behind a flag of its group",
      ["sessions", "--config", "list", "tial"],
      /no command "sessions tial"\n {2}hint: Did you mean `holdfast sessions tail`\?/,
    ],
    [
      "an unknown command of a group, with the one that was meant",
      ["sessions", "lst"],
      /no command "sessions lst"\n {2}hint: Did you mean `holdfast sessions list`\?/,
    ],
    [
      "the beginning of several commands, with each of them",
      ["sessions", "s"],
      /Did you mean `holdfast sessions show`, .*`holdfast sessions salvage`.*\?/,
    ],
    [
      "a command that nothing is like, with all that there are",
      ["sessions", "xyzzy"],
      /hint: There are list, show, tail, /,
    ],
    ["help of an unknown command", ["help", "srve"], /Did you mean `holdfast serve`\?/],
    ["help of an unknown command in a group", ["sessions", "help", "lst"], /`holdfast sessions list`/],
    ["help of an unknown command of a group", ["sessions", "lst", "--help"], /`holdfast sessions list`/],
    [
      "an unknown flag of a command in a group, with the one that was meant",
      ["sessions", "list", "--session_db", "a.db"],
      /no flag --session_db\n {2}hint: Did you mean --session-db\?/,
    ],
    [
      "an unknown flag, without its value",
      ["serve", "--api-kye=sk-1234"],
      /^holdfast: There is no flag --api-kye\n/,
    ],
    [
      "no text",
      ["invoke"],
      /The text is missing\n {2}hint: Write it as an argument, or - to read it from stdin/,
    ],
    [
      "an address that is none",
      ["invoke", "--url", "localhost:8765", "hi"],
      /--url cannot be "localhost:8765"/,
    ],
  ])("%s", async (_, args, message) => {
    const { code, stdout, stderr } = await runHoldfast(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("no command at all: the help", async () => {
    const { code, stdout, stderr } = await runHoldfast([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: holdfast ");
  });
});
