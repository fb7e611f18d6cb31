import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { symlink } from "node:fs/promises";
import { makeStore } from "../fixtures/damaged-store.ts";
import { executablePath, runCommand, runHoldfast } from "../fixtures/executable.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** How each shell is asked what it offers for the last of `"$@"`; it reads the script from the file `script`. */
const ASK = {
  bash: [
    ...["bash", "--norc", "-c"],
    `source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf "%s\\n" "\${COMPREPLY[@]}"`,
    "bash",
  ],
  // What zsh shows needs a terminal; here its own functions say what they were given.
  zsh: [
    ...["zsh", "-f", "-c"],
    `compdef() { : }; compset() { : }; _files() { print -l -- *(N) }
     compadd() { print -l -- "\${(@P)2}" }; _describe() { print -l -- "\${(@)\${(@P)@[-1]}%%:*}" }
     source ./script; words=("$@"); CURRENT=$#; _holdfast`,
    "zsh",
  ],
  fish: [
    "fish",
    "--no-config",
    "-c",
    'source ./script; complete -C "$(string join -- " " $argv)" | string split -f1 \\t',
  ],
} as const;

describe.each(["bash", "zsh", "fish"] as const)("the script for %s", (shell) => {
  test.skipIf(Bun.which(shell) === null)(
    "offers commands, flags, values, files and ids of sessions",
    async () => {
      await using folder = await TempFolder.create();
      await makeStore(folder.at("agent.db"));
      await symlink(executablePath(), folder.at("holdfast"));
      const { code, stdout, stderr } = await runHoldfast(["completions", shell]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      await Bun.write(folder.at("script"), stdout);
      const offered = async (...words: readonly string[]) => {
        const env = { PATH: `${folder.path}:${process.env["PATH"] ?? ""}`, HOME: folder.path };
        const command = [...ASK[shell], "holdfast", ...words];
        const finished = await runCommand(command, { cwd: folder.path, env });
        expect(finished.stderr).toBe("");
        return finished.stdout.split("\n");
      };
      expect(await offered("")).toEqual(
        expect.arrayContaining(["serve", "sessions", "config", "completions"]),
      );
      expect(await offered("sessions", "")).toEqual(expect.arrayContaining(["list", "backup"]));
      expect(await offered("sessions", "backup", "--t")).toEqual(expect.arrayContaining(["--to"]));
      expect(await offered("serve", "--model", "x", "--provider", "")).toEqual(
        expect.arrayContaining(["demo", "openai-compatible", "anthropic"]),
      );
      expect(await offered("completions", "")).toContain("fish");
      expect(await offered("sessions", "list", "--state", "")).toContain("interrupted");
      expect(await offered("sessions", "search", "x", "--in", "")).toContain("reasoning");
      expect(await offered("serve", "--session-db", "ag")).toContain("agent.db");
      expect(await offered("sessions", "show", "--session-db", "agent.db", "d")).toEqual(["default", ""]);
      await Bun.write(folder.at("settings.json"), '{"sessionDb": "agent.db"}');
      expect(await offered("sessions", "--config", "settings.json", "tail", "-n", "3", "d")).toContain(
        "default",
      );
      expect(await offered("sessions", "delete", "agent.db", "d")).toContain("default");
      expect(await offered("sessions", "stats", "--config", "set")).toContain("settings.json");
      // The store may stand before the one session.
      expect(await offered("sessions", "show", "ag")).toContain("agent.db");
      expect(await offered("sessions", "show", "agent.db", "d")).toContain("default");
      expect(await offered("sessions", "tail", "x", "ag")).toContain("agent.db");
      expect(await offered("sessions", "tail", "--config", "settings.json", "")).toEqual(
        expect.arrayContaining(["default", "agent.db"]),
      );
      // No store is named: that is no reason to say anything.
      expect((await offered("sessions", "copy", "d")).join("")).toBe("");
    },
  );
});

test("a shell that there is no script for is refused, with those that there are", async () => {
  const { code, stdout, stderr } = await runHoldfast(["completions", "tcsh"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^holdfast: .*bash, zsh or fish/);
});
