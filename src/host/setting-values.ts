import type { z } from "zod";
import type { Setting, Values } from "./settings.ts";
import { hiddenText, shownValue } from "./shown-value.ts";
import { isGiven, type RawOption, type RawOptions, UsageError } from "./usage.ts";

/** The values of settings, those that are not given by their fallback. @throws UsageError */
export function parseSettings<S extends Readonly<Record<string, Setting<unknown, unknown>>>>(
  settings: S,
  raw: RawOptions,
): Values<S> {
  const values: Record<string, unknown> = {};
  for (const [name, { schema, fallback }] of Object.entries(settings)) {
    // An empty flag is a mistake, unlike an empty variable.
    const given = option(raw, name);
    const result = given === undefined ? undefined : schema().safeParse(given.value);
    if (given !== undefined && result?.success === false)
      throw unusable(raw, name, given.value, result.error);
    values[name] = result?.success === true ? result.data : fallback;
  }
  // Each value came from the schema or the fallback of its own setting.
  return values as Values<S>;
}

function unusable(raw: RawOptions, name: string, whole: unknown, { issues }: z.ZodError): UsageError {
  const [issue] = issues;
  const value = (issue?.path ?? []).reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : at),
    whole,
  );
  // What should name the variable with a key is often the key.
  const isKey = name === "apiKeyEnv" && typeof value === "string" && value !== "";
  const shown = isKey ? hiddenText(value) : shownValue(value);
  return new UsageError(`${sourceOf(raw, name)} cannot be ${shown}: ${issue?.message ?? "it is not valid"}`);
}

/** An option, if it is given. */
export function option(raw: RawOptions, name: string): RawOption | undefined {
  const found = raw[name];
  return isGiven(found) ? found : undefined;
}

/** Where an option came from; its flag where it was not given. */
export function sourceOf(raw: RawOptions, name: string): string {
  return (
    option(raw, name)?.source ?? `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  );
}
