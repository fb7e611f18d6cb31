import type { CommanderError, Option } from "@commander-js/extra-typings";
import { nearestName } from "../host/nearest-name.ts";
import { UsageError } from "../host/usage.ts";

/** What is looked at of a command. */
interface Tree {
  readonly commands: readonly Tree[];
  readonly options: readonly Option[];
  name(): string;
}

/**
 * A mistake that commander found in `args`, told as all others are: what is wrong, and below it what to do. The value of
 * an unknown flag is not told, for it may be a key.
 */
export function usageErrorOf(program: Tree, args: readonly string[], error: CommanderError): UsageError {
  const { command, path, rest } = commandOf(program, args);
  const help = `\`${["holdfast", ...path].join(" ")} --help\``;
  if (error.code === "commander.unknownCommand") return unknownCommand(program, command, path, rest);
  if (error.code === "commander.unknownOption") {
    const [, flag = ""] = /'(-[^'=\s]*)/.exec(error.message) ?? [];
    return unknownFlag(command, flag, error.message, help);
  }
  const [line = ""] = error.message.replace(/^error: /, "").split("\n(");
  return new UsageError(line.charAt(0).toUpperCase() + line.slice(1), `${help} says how it is used.`);
}

/** @throws UsageError where the words name a command that there is not, also where they ask for its help */
export function assertCommand(program: Tree, args: readonly string[]): void {
  const { command, path, rest } = commandOf(program, args[0] === "help" ? args.slice(1) : args);
  const [word] = rest;
  if (command.commands.length === 0 || word === undefined || word.startsWith("-") || word === "help") return;
  throw unknownCommand(program, command, path, rest);
}

/** The command that the words of a command line lead to, and those that are left. */
function commandOf(program: Tree, args: readonly string[]) {
  let command = program;
  const path: string[] = [];
  for (const word of args) {
    const next = command.commands.find((below) => below.name() === word);
    if (next === undefined) break;
    command = next;
    path.push(word);
  }
  return { command, path, rest: args.slice(path.length) };
}

function unknownCommand(
  program: Tree,
  command: Tree,
  path: readonly string[],
  rest: readonly string[],
): UsageError {
  // Flags of the program itself may stand before it.
  const word = rest.find((arg) => !arg.startsWith("-")) ?? "";
  const message = `There is no command ${JSON.stringify([...path, word].join(" "))}`;
  const names = command.commands.map((below) => below.name());
  const full = (name: string) => `\`${["holdfast", ...path, name].join(" ")}\``;
  const starting = names.filter((name) => word !== "" && name.startsWith(word));
  if (starting.length > 1) {
    const last = starting.pop() ?? "";
    return new UsageError(message, `Did you mean ${starting.map(full).join(", ")} or ${full(last)}?`);
  }
  const isAbove = path.length > 0 && program.commands.some((other) => other.name() === word);
  const elsewhere = program.commands.filter(
    (group) => group !== command && group.commands.some((below) => below.name() === word),
  );
  const [other] = isAbove
    ? [`\`holdfast ${word}\``]
    : elsewhere.map((group) => `\`holdfast ${group.name()} ${word}\``);
  const nearest = starting[0] ?? nearestName(word, names);
  const meant = other ?? (nearest === undefined ? undefined : full(nearest));
  return new UsageError(
    message,
    meant === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${meant}?`,
  );
}

function unknownFlag(command: Tree, flag: string, message: string, help: string): UsageError {
  const [, suggested] = /\(Did you mean (?:one of )?([^?]*)\?\)/.exec(message) ?? [];
  const names = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
  const meant = suggested ?? (flag.startsWith("--") ? nearestName(flag, names) : undefined);
  const hint = meant === undefined ? `${help} lists the flags.` : `Did you mean ${orOf(meant)}?`;
  return new UsageError(`There is no flag ${flag}`, hint);
}

/** `--a, --b` as a question says it. */
function orOf(list: string): string {
  return list.replace(/, (?=[^,]*$)/, " or ");
}
