import { readFileSync } from "node:fs";
import { z } from "zod";
import { SETTING_NAMES } from "./settings.ts";
import { isGiven } from "./store-options.ts";
import { type RawOption, type RawOptions, UsageError } from "./usage.ts";

const membersSchema = z.record(z.string(), z.unknown());

/**
 * The options with what the file of `--config` sets beside them: one JSON object, its members named as the flags are, in
 * camel case. Flags and variables win. The file holds no secrets: it names the variables and files that do.
 * @throws UsageError when the file cannot be read, is no JSON object, or has a member of an unknown name
 */
export function withConfigFile({ config, ...raw }: RawOptions): RawOptions {
  if (!isGiven(config)) return raw;
  const path = String(config.value);
  const options: Record<string, RawOption> = {};
  for (const [name, value] of Object.entries(readMembers(path, config.source))) {
    if (!SETTING_NAMES.has(name)) {
      throw new UsageError(
        `The configuration file ${path} sets ${JSON.stringify(name)}, which there is not`,
        "`holdfast serve --help` lists the flags; their names in camel case are the names here.",
      );
    }
    options[name] = { value, source: `${JSON.stringify(name)} in ${path}` };
  }
  for (const [name, option] of Object.entries(raw)) if (isGiven(option)) options[name] = option;
  return options;
}

function readMembers(path: string, source: string): Readonly<Record<string, unknown>> {
  const text = readSettingFile(source, path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `The configuration file ${path} is not JSON: ${error instanceof Error ? error.message : error}`,
      'Write one JSON object, such as {"provider": "demo"}.',
    );
  }
  const members = membersSchema.safeParse(value);
  if (members.success) return members.data;
  throw new UsageError(
    `The configuration file ${path} is not a JSON object`,
    'Write one JSON object, such as {"provider": "demo"}.',
  );
}

/** The text of the file that an option names. @throws UsageError */
export function readSettingFile(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new UsageError(
      `The file that ${source} names cannot be read: ${path} (${reason})`,
      "Check the path.",
    );
  }
}
