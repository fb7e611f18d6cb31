import type { CommanderError, Option } from "@commander-js/extra-typings";
import { nearestName } from "../host/nearest-name.ts";
import { UsageError } from "../host/usage.ts";

/** Flags that every command has beside its options. */
const HELP: readonly string[] = ["-h", "--help"];

/** What is looked at of a command. */
interface Tree {
  readonly commands: readonly Tree[];
  readonly options: readonly Option[];
  readonly args: readonly string[];
  readonly registeredArguments: ReadonlyArray<{ name(): string }>;
  name(): string;
}

/**
 * A mistake that commander found in `args`, told as all others are: what is wrong, and below it what to do. The value of
 * an unknown flag is not told, for it may be a key.
 */
export async function usageErrorOf(
  program: Tree,
  args: readonly string[],
  error: CommanderError,
): Promise<UsageError> {
  const { command, path, rest } = commandOf(program, args);
  const help = helpOf(path);
  if (error.code === "commander.unknownCommand") return unknownCommand(program, command, path, rest);
  if (error.code === "commander.unknownOption") {
    const [, flag = ""] = /'(-[^'=\s]*)/.exec(error.message) ?? [];
    return unknownFlag(command, path, flag, error.message);
  }
  const hint = `${help} says how it is used.`;
  if (error.code === "commander.excessArguments") {
    const { tooManyWords } = await import("./stray-words.ts");
    return tooManyWords(command, args, hint);
  }
  const [line = ""] = error.message.replace(/^error: /, "").split("\n(");
  return invalidChoice(line, hint) ?? new UsageError(inOwnWords(line), hint);
}

/** An error of the command that `args` name: where it has no hint of its own, that command's help is named. */
export function withHelpHint(program: Tree, args: readonly string[], error: unknown): unknown {
  if (!(error instanceof UsageError) || error.hasOwnHint) return error;
  return new UsageError(error.message, `${helpOf(commandOf(program, args).path)} lists the flags.`);
}

function helpOf(path: readonly string[]): string {
  return `\`${["holdfast", ...path].join(" ")} --help\``;
}

/** A value that is none of those that there are. */
function invalidChoice(line: string, hint: string): UsageError | undefined {
  const [, argument, choices = ""] = /^(.*) is invalid.*\. Allowed choices are (.*)\.$/s.exec(line) ?? [];
  if (argument === undefined) return undefined;
  const [, name = "", value = ""] =
    /^option '(.*)' (?:argument|value) '(.*)'(?: from env .*)?$/s.exec(argument) ?? [];
  const [, word = ""] = /^command-argument value '(.*)'$/s.exec(argument) ?? [];
  const [, variable] = / from env '(\w+)'$/.exec(argument) ?? [];
  const [, place = ""] = / for argument '(.*)'\. Allowed/s.exec(line) ?? [];
  const given = JSON.stringify(name === "" ? word : value);
  const what = variable ?? (name === "" ? `<${place}>` : flagOf(name));
  return new UsageError(`${what} cannot be ${given}: it must be ${orOf(choices)}`, hint);
}

const WORDS: ReadonlyArray<readonly [RegExp, (...found: readonly string[]) => string]> = [
  [/^missing required argument '(.*)'$/s, (name = "") => `<${name}> is missing`],
  [/^option '(.*)' argument missing$/s, (name = "") => `${flagOf(name)} needs a value`],
  [/^required option '(.*)' not specified$/s, (name = "") => `${flagOf(name)} is missing`],
  [
    /^(?:option|environment variable) '(.*)' cannot be used with (?:option|environment variable) '(.*)'$/s,
    (first = "", second = "") => `${flagOf(first)} and ${flagOf(second)} exclude each other`,
  ],
];

/** What commander says, as this program says it. */
function inOwnWords(line: string): string {
  for (const [pattern, say] of WORDS) {
    const found = pattern.exec(line);
    if (found !== null) return say(...found.slice(1));
  }
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** `--port` of `-p, --port <number>`. */
function flagOf(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

/** @throws UsageError where the words name a command that there is not, also where they ask for its help */
export function assertCommand(program: Tree, args: readonly string[]): void {
  const { command, path, rest } = commandOf(program, args);
  const [word] = rest;
  if (command.commands.length === 0 || word === undefined || word.startsWith("-")) return;
  throw unknownCommand(program, command, path, rest);
}

/**
 * Of a flag whose value was left out the next one would be taken for it, and a store made of that name. A value that
 * begins so all the same is given with `=`.
 * @throws UsageError where the value of a flag is the name of one, or begins as these do
 */
export function assertValues(program: Tree, args: readonly string[]): void {
  const options = commandOf(program, args).above.flatMap((command) => command.options);
  const named = (word: string) => options.find(({ long, short }) => word === long || word === short);
  for (let at = 0; at < args.length && args[at] !== "--"; at += 1) {
    const option = named(args[at] ?? "");
    if (option?.required !== true) continue;
    at += 1;
    const value = args[at];
    // That one which is no flag stands there, is told first.
    if (value === undefined || option.hidden) continue;
    const flag = option.long ?? option.flags;
    const isName = named(value) !== undefined || HELP.includes(value);
    if (!isName && !value.startsWith("--")) continue;
    // Other words may be a key.
    const shown = isName ? value : "VALUE";
    throw new UsageError(
      `${flag} has no value: ${isName ? value : "what looks like a flag"} follows it`,
      `A value that begins like a flag is given with =, as ${flag}=${shown}.`,
    );
  }
}

/** The command that the words of a command line lead to, and those that are left. Before a word may stand `help`. */
function commandOf(program: Tree, args: readonly string[]) {
  let command = program;
  const above = [program];
  const path: string[] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const word = args[at] ?? "";
    // Flags of a group, and their values, may stand before its command.
    const flag = command.options.find(({ long, short }) => word === long || word === short);
    if (flag !== undefined && command.commands.length > 0) {
      if (flag.required) at += 1;
      continue;
    }
    if (word === "help" && command.commands.length > 0) continue;
    const next = command.commands.find((below) => below.name() === word);
    if (next === undefined) break;
    command = next;
    above.push(next);
    path.push(word);
  }
  return { command, above, path, rest: args.slice(at) };
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

function unknownFlag(command: Tree, path: readonly string[], flag: string, message: string): UsageError {
  const [, suggested] = /\(Did you mean (?:one of )?([^?]*)\?\)/.exec(message) ?? [];
  const names = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
  const meant =
    commandFor(command, path, flag) ??
    suggested ??
    (flag.startsWith("--") ? nearestName(flag, names) : undefined);
  const hint = meant === undefined ? `${helpOf(path)} lists the flags.` : `Did you mean ${orOf(meant)}?`;
  return new UsageError(`There is no flag ${flag}`, hint);
}

/** The command that was typed like a flag, unless commands have a flag of that name. */
function commandFor({ commands }: Tree, path: readonly string[], flag: string): string | undefined {
  const name = flag.replace(/^--/, "");
  const isFlagBelow = commands.some(({ options }) => options.some(({ long }) => long === flag));
  if (isFlagBelow || !commands.some((below) => below.name() === name)) return undefined;
  return `\`${["holdfast", ...path, name].join(" ")}\``;
}

/** `--a, --b` as a question says it. */
function orOf(list: string): string {
  return list.replace(/, (?=[^,]*$)/, " or ");
}
