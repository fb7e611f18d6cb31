import { describe, expect, test } from "bun:test";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { createProgram, run } from "../../src/cli/program.ts";
import { UsageError } from "../../src/host/usage.ts";
import { rejectionOf } from "../contract/support.ts";

/** Each command with the words that lead to it. */
function commandsOf(
  command: CommandUnknownOpts,
  path: readonly string[],
): Array<readonly [readonly string[], CommandUnknownOpts]> {
  const below = command.commands.flatMap((one) => commandsOf(one, [...path, one.name()]));
  return [[path, command], ...below];
}

const FLAGS = commandsOf(
  createProgram(() => undefined),
  [],
).flatMap(([path, command]) =>
  command.options
    .filter(({ required, hidden }) => required && !hidden)
    .map(({ long }) => [path, String(long)] as const),
);

async function refusalOf(args: readonly string[]): Promise<string> {
  const error = await rejectionOf(run(args));
  expect(error).toBeInstanceOf(UsageError);
  return error instanceof UsageError ? error.message : "";
}

describe("a value that was left out", () => {
  test("is missed by every flag of every command, and the next flag is not taken for it", async () => {
    expect(FLAGS.length).toBeGreaterThan(100);
    for (const [path, flag] of FLAGS) {
      const own = [...path, flag];
      expect(await refusalOf([...own, "--help"])).toBe(`${flag} has no value: --help follows it`);
      expect(await refusalOf([...own, flag])).toBe(`${flag} has no value: ${flag} follows it`);
      const other = await refusalOf([...own, "--sk-live-1234"]);
      expect(other).toBe(`${flag} has no value: what looks like a flag follows it`);
    }
  });

  test("is missed before a short flag, and of a flag of the group", async () => {
    expect(await refusalOf(["sessions", "tail", "x", "-n", "-f"])).toBe(
      "--lines has no value: -f follows it",
    );
    expect(await refusalOf(["sessions", "--config", "--json", "list"])).toStartWith("--config has no value");
    expect(await refusalOf(["sessions", "list", "--config", "--json"])).toStartWith("--config has no value");
  });

  test("is not seen where it is given, behind the end of the flags, nor in what is no value", async () => {
    const port = (...args: readonly string[]) => refusalOf(["serve", ...args, "--port", "many"]);
    for (const args of [["--stop=--json"], ["--stop", "-json"]])
      expect(await port(...args)).toStartWith('--port cannot be "many"');
    expect(await refusalOf(["invoke", "--port", "1", "--", "--session-db", "--json"])).not.toContain(
      "has no value",
    );
  });

  test("is not looked for behind what is no flag, such as one for a secret", async () => {
    expect(await refusalOf(["serve", "--api-key", "--json"])).toStartWith("--api-key is no flag");
  });
});
