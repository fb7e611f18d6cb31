import { HoldfastError } from "../session/errors.ts";

/** A flag or variable that cannot be used. The program has done nothing yet. */
export class UsageError extends HoldfastError {
  readonly code = "usage";

  constructor(message: string, hint = "`holdfast serve --help` lists the flags.") {
    super(message, { hint });
  }
}

/** A value as it was given, and where it came from: a flag, a variable, or a member of a configuration file. */
export interface RawOption {
  readonly value: unknown;
  readonly source: string;
}

/** Raw values by option name. */
export type RawOptions = Readonly<Record<string, RawOption>>;
