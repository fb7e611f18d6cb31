import { expect, test } from "bun:test";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { createProgram } from "../../src/cli/program.ts";

/** All commands, each with its name as it is typed. */
function commandsOf(command: CommandUnknownOpts, name: string): Array<readonly [string, CommandUnknownOpts]> {
  const below = command.commands.filter((one) => one.name() !== "help");
  return [[name, command], ...below.flatMap((one) => commandsOf(one, `${name} ${one.name()}`))];
}

test("the help of each command begins with examples of it", () => {
  const commands = commandsOf(
    createProgram(() => undefined),
    "holdfast",
  );
  expect(commands.length).toBeGreaterThan(20);
  for (const [name, command] of commands) {
    let text = "";
    command.configureOutput({
      writeOut: (part) => {
        text += part;
      },
    });
    command.outputHelp();
    const [heading = "", first = ""] = text.split("\n");
    expect([name, /^Examples?:$/.test(heading), first.includes(name)]).toEqual([name, true, true]);
  }
});
