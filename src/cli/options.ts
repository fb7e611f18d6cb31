import { type Command, Option } from "@commander-js/extra-typings";
import type { RawOptions } from "../host/usage.ts";

/** An option that can come from its variable: `--session-db` from HOLDFAST_SESSION_DB. */
export function flag<const Flags extends string>(flags: Flags, description: string): Option<Flags> {
  const option = new Option(flags, description);
  const name = option.attributeName().replace(/[A-Z]/g, (letter) => `_${letter}`);
  return option.env(`HOLDFAST_${name.toUpperCase()}`);
}

/** What a command only needs to know of itself to say where its options came from. */
type OptionSource = Pick<Command, "options" | "getOptionValueSourceWithGlobals">;

/** The values of a command's options, each with the flag or the variable that it came from. */
export function rawOptions(command: OptionSource, values: Readonly<Record<string, unknown>>): RawOptions {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const option = command.options.find((candidate) => candidate.attributeName() === name);
      const fromVariable = command.getOptionValueSourceWithGlobals(name) === "env";
      return [name, { value, source: (fromVariable ? option?.envVar : option?.long) ?? name }];
    }),
  );
}
