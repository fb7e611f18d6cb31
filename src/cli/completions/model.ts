import type { Option } from "@commander-js/extra-typings";
import { PROVIDER_NAMES } from "../../agent/providers/index.ts";
import { SPEAKERS } from "../../session/search/said.ts";
import { STATE_NAMES } from "../sessions/list/list-filters.ts";

/** What may stand in a place of the command line. */
export type Kind =
  | { readonly kind: "words"; readonly words: readonly string[] }
  /** A file or a folder. */
  | { readonly kind: "path" }
  /** Id of a stored session. */
  | { readonly kind: "session" }
  /** Anything; nothing can be offered. */
  | { readonly kind: "any" };

export interface FlagModel {
  /** As it is written: `--json`. */
  readonly flag: string;
  /** Its short form, if it has one: `-n`. */
  readonly short?: string;
  readonly summary: string;
  /** What its value is; absent for a flag without one. */
  readonly value?: Kind;
}

/** A command as a shell completes it. */
export interface CommandModel {
  /** Its words, such as `/sessions/list`; `""` is the program. */
  readonly path: string;
  readonly commands: ReadonlyArray<{ readonly name: string; readonly summary: string }>;
  readonly flags: readonly FlagModel[];
  readonly arguments: ReadonlyArray<{ readonly value: Kind; readonly isVariadic: boolean }>;
}

/** What a model needs to know of a command. */
export interface CommandTree {
  readonly commands: readonly CommandTree[];
  readonly options: readonly Option[];
  readonly registeredArguments: ReadonlyArray<{
    readonly argChoices?: readonly string[] | undefined;
    readonly variadic: boolean;
    name(): string;
  }>;
  name(): string;
  description(): string;
}

/** Values of flags that are checked later than on the command line. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  provider: PROVIDER_NAMES,
  jsonlEncoding: ["zstd", "none"],
  state: STATE_NAMES,
  in: SPEAKERS,
};
const SESSIONS = new Set(["sessionId", "forkFrom", "parent"]);
const PATH = /^(path|file|root|folder|dir|store)(\||$)/i;

/** The program and every command below it, each once. `inherited` are the flags of the group that they are in. */
export function modelsOf(
  program: CommandTree,
  path = "",
  inherited: readonly FlagModel[] = [],
): CommandModel[] {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    summary: command.description(),
  }));
  const flags = program.options.filter(({ hidden }) => !hidden).flatMap(flagOf);
  const own: CommandModel = {
    path,
    commands:
      path === "" ? [...commands, { name: "help", summary: "print the help of a command" }] : commands,
    flags: [...flags, ...inherited, { flag: "--help", summary: "print this help" }],
    arguments: program.registeredArguments.map((argument) => ({
      value: kindOf(argument.name(), argument.argChoices),
      isVariadic: argument.variadic,
    })),
  };
  const below = program.commands.flatMap((command) =>
    modelsOf(command, `${path}/${command.name()}`, path === "" ? [] : flags),
  );
  return [own, ...below];
}

function flagOf(option: Option): FlagModel[] {
  const { long, short, description: summary, argChoices } = option;
  if (!long) return [];
  const names = { flag: long, ...(short ? { short } : {}) };
  if (!option.required && !option.optional) return [{ ...names, summary }];
  const [, placeholder = ""] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  const name = option.attributeName();
  const value: Kind = SESSIONS.has(name)
    ? { kind: "session" }
    : kindOf(placeholder, argChoices ?? VALUES[name]);
  // A new session's id is chosen by the user.
  return [{ ...names, summary, value: long === "--id" ? { kind: "any" } : value }];
}

function kindOf(placeholder: string, choices: readonly string[] | undefined): Kind {
  if (choices !== undefined) return { kind: "words", words: choices };
  const name = placeholder.replace(/\.{3}$/, "");
  if (name === "id") return { kind: "session" };
  return { kind: PATH.test(name) ? "path" : "any" };
}

/** A kind as the scripts for bash and zsh name it. */
function kindText(kind: Kind): string {
  return kind.kind === "words" ? `words ${kind.words.join(" ")}` : kind.kind;
}

/** Patterns by what they stand for, for `case`: `"/serve --provider"|"/chat --provider"`. */
export function patternsByKind(
  models: readonly CommandModel[],
  of: "flags" | "arguments",
): [string, string][] {
  const patterns = new Map<string, string[]>();
  const add = (kind: Kind, pattern: string) => {
    const text = kindText(kind);
    patterns.set(text, [...(patterns.get(text) ?? []), pattern]);
  };
  for (const model of models) {
    if (of === "flags") {
      for (const { flag, short, value } of model.flags) {
        if (value === undefined) continue;
        add(value, quoted(`${model.path} ${flag}`));
        if (short !== undefined) add(value, quoted(`${model.path} ${short}`));
      }
    } else {
      for (const [k, { value, isVariadic }] of model.arguments.entries())
        add(value, isVariadic ? `${quoted(`${model.path} `)}*` : quoted(`${model.path} ${k}`));
    }
  }
  return [...patterns].map(([kind, all]) => [kind, all.join("|")]);
}

/** Paths of the commands whose first argument may be the store that their other arguments are sessions of. */
export function storeFirst(models: readonly CommandModel[]): string[] {
  return models.flatMap(({ path, arguments: [first, ...others] }) => {
    const isStore = first?.value.kind === "path" && others.some(({ value }) => value.kind === "session");
    return isStore ? [path] : [];
  });
}

/** Paths of the commands that take a session and its store, in either order. */
export function idFirst(models: readonly CommandModel[]): string[] {
  return models.flatMap(({ path, arguments: [first, second] }) =>
    first?.value.kind === "session" && !first.isVariadic && second?.value.kind === "path" ? [path] : [],
  );
}

/** The flags, each behind the path of its command, whose value is the store that sessions are copied from. */
export function sourceFlags(models: readonly CommandModel[]): string[] {
  return models.flatMap(({ path, flags }) =>
    flags.flatMap(({ flag, value }) =>
      flag === "--from" && value?.kind === "path" ? [`${path} ${flag}`] : [],
    ),
  );
}

/** A text between single quotes, for shells of the Bourne kind. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
