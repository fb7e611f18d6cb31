import { HoldfastError } from "../session/errors.ts";

/** A flag or variable that cannot be used. The program has done nothing yet. */
export class UsageError extends HoldfastError {
  readonly code = "usage";
  /** Whether the hint is of this mistake; else the help is pointed to, by whoever knows what command was run. */
  readonly hasOwnHint: boolean;

  constructor(message: string, hint?: string) {
    super(message, { hint: hint ?? "`holdfast --help` lists the commands, and that of each its flags." });
    this.hasOwnHint = hint !== undefined;
  }
}

/** A value as it was given, and where it came from: a flag, a variable, or a member of a configuration file. */
export interface RawOption {
  readonly value: unknown;
  /** As messages name it: `--port`, `HOLDFAST_PORT`, or `"port" in PATH`. */
  readonly source: string;
}

/** Raw values by option name. */
export type RawOptions = Readonly<Record<string, RawOption>>;

/** Whether an option has a value. A variable that is empty counts as none, as it does for most programs. */
export function isGiven(option: RawOption | undefined): option is RawOption {
  return option?.value !== undefined && !(option.value === "" && isVariable(option));
}

/**
 * The options without those that another way of saying the same overrules: of two groups, the one with a flag goes before
 * the one with a variable, and that before a configuration file.
 * @throws UsageError, made by `clash`, when both groups are given in the same way
 */
export function withOneOf(
  raw: RawOptions,
  groups: readonly [readonly string[], readonly string[]],
  clash: (first: RawOption, second: RawOption) => UsageError,
): RawOptions {
  const [first, second] = groups.map((names) => strongest(raw, names));
  if (first === undefined || second === undefined) return raw;
  const preference = rank(first) - rank(second);
  if (preference === 0) throw clash(first, second);
  const overruled = groups[preference > 0 ? 1 : 0];
  return Object.fromEntries(Object.entries(raw).filter(([name]) => !overruled.includes(name)));
}

function strongest(raw: RawOptions, names: readonly string[]): RawOption | undefined {
  const given = names.map((name) => raw[name]).filter(isGiven);
  return given.toSorted((a, b) => rank(b) - rank(a))[0];
}

/** Flags over variables over files. */
function rank(option: RawOption): number {
  return isFlag(option) ? 2 : isVariable(option) ? 1 : 0;
}

/** Whether a value stood on the command line. */
export function isFlag({ source }: RawOption): boolean {
  return source.startsWith("--");
}

/** Where an option came from. */
export function kindOfSource(option: RawOption): "flag" | "variable" | "file" {
  return isFlag(option) ? "flag" : isVariable(option) ? "variable" : "file";
}

function isVariable({ source }: RawOption): boolean {
  return source.startsWith("HOLDFAST_");
}
