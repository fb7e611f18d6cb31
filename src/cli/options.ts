import { type Command, Option } from "@commander-js/extra-typings";
import type { RawOptions } from "../host/usage.ts";

/** How help is set: to the width of the terminal, also where long terms leave little of it. */
export const WRAPPED = { minWidthToWrap: 20 };

/** An option that can come from its variable: `--session-db` from HOLDFAST_SESSION_DB. */
export function flag<const Flags extends string>(flags: Flags, description: string): Option<Flags> {
  const option = new Option(flags, description);
  const name = option.attributeName().replace(/[A-Z]/g, (letter) => `_${letter}`);
  return option.env(`HOLDFAST_${name.toUpperCase()}`);
}

/** For `argParser`: the values of a flag that can be given several times. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** What a command only needs to know of itself to say where its options came from. */
type OptionSource = Pick<Command, "options" | "getOptionValueSourceWithGlobals"> & {
  /** The group that the command is in. */
  readonly parent: (Pick<Command, "options"> & { opts(): Readonly<Record<string, unknown>> }) | null;
};

/**
 * The values of a command's options and of those that its group has for all of its commands, each with the flag or the
 * variable that it came from.
 */
export function rawOptions(command: OptionSource, values: Readonly<Record<string, unknown>>): RawOptions {
  const options = [...(command.parent?.options ?? []), ...command.options];
  return Object.fromEntries(
    Object.entries({ ...command.parent?.opts(), ...values }).map(([name, value]) => {
      const option = options.findLast((candidate) => candidate.attributeName() === name);
      const fromVariable = command.getOptionValueSourceWithGlobals(name) === "env";
      return [name, { value, source: (fromVariable ? option?.envVar : option?.long) ?? name }];
    }),
  );
}
