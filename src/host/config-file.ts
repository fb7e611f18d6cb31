import { dirname, resolve } from "node:path";
import { findJsonFault } from "../session/json.ts";
import { nearestName } from "./nearest-name.ts";
import { readSettingFile } from "./setting-file.ts";
import { PATH_NAMES, SETTING_NAMES, SOCKET_SCHEME } from "./settings.ts";
import { shownValue } from "./shown-value.ts";
import { isGiven, type RawOption, type RawOptions, UsageError } from "./usage.ts";

const AN_OBJECT = 'Write one JSON object, such as {"provider": "demo"}. JSON has no comments.';

/**
 * The options with what the file of `--config` sets beside them: one JSON object, its members named as the flags are, in
 * camel case. Flags and variables win. Relative paths begin at the folder of the file, so that it means the same wherever
 * the program is started. The file holds no secrets: it names the variables and files that do.
 * @throws UsageError when the file cannot be read, is no JSON object, or has a member of an unknown name or one twice
 */
export function withConfigFile({ config, ...raw }: RawOptions): RawOptions {
  if (!isGiven(config)) return raw;
  const path = String(config.value);
  if (path === "") throw new UsageError(`${config.source} cannot be "": it is empty`);
  const { text, isRegular } = readSettingFile(config.source, path);
  const folder = isRegular ? dirname(resolve(path)) : ".";
  const options: Record<string, RawOption> = {};
  for (const [name, value] of parseMembers(path, text)) {
    if (!SETTING_NAMES.has(name)) throw unknownMember(path, name);
    options[name] = { value: placed(name, value, folder), source: `${JSON.stringify(name)} in ${path}` };
  }
  for (const [name, option] of Object.entries(raw)) if (isGiven(option)) options[name] = option;
  return options;
}

function parseMembers(path: string, text: string): ReadonlyArray<readonly [string, unknown]> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // What stands in quotes there is text of the file, which may be a key.
    const reason = error instanceof Error ? error.message.replace(/ "[\s\S]*/, "") : "unknown";
    throw new UsageError(`The configuration file ${path} is not JSON: ${reason}`, AN_OBJECT);
  }
  const fault = findJsonFault(value);
  if (fault !== undefined) {
    throw new UsageError(`The configuration file ${path} holds ${fault.problem}`, AN_OBJECT);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const twice = repeatedName(text);
    if (twice === undefined) return Object.entries(value);
    throw new UsageError(
      `The configuration file ${path} sets ${shownValue(twice)} twice`,
      "Keep one of them.",
    );
  }
  throw new UsageError(`The configuration file ${path} is not a JSON object`, AN_OBJECT);
}

/** The first name that a JSON object has twice, of which JSON.parse would drop one. */
function repeatedName(text: string): string | undefined {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, string, colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g)) {
    if (string === undefined) depth += token === "{" || token === "[" ? 1 : -1;
    else if (depth === 1 && colon !== undefined) {
      const name = String(JSON.parse(string));
      if (names.has(name)) return name;
      names.add(name);
    }
  }
  return undefined;
}

function unknownMember(path: string, name: string): UsageError {
  const nearest = nearestName(name, SETTING_NAMES);
  if (nearest === undefined && /key|token|secret|password|passwd|bearer|credential|^auth/i.test(name)) {
    return new UsageError(
      `The configuration file ${path} sets ${shownValue(name)}, and secrets do not stand in it`,
      'Name the variable that holds an API key as "apiKeyEnv", and the file with the token of HTTP clients as "tokenFile".',
    );
  }
  return new UsageError(
    `The configuration file ${path} sets ${shownValue(name)}, which there is not`,
    nearest === undefined
      ? "`holdfast serve --help` lists the flags; their names in camel case are the names here."
      : `Did you mean ${JSON.stringify(nearest)}?`,
  );
}

/** A value with its path, if it is one, beginning at the folder. */
function placed(name: string, value: unknown, folder: string): unknown {
  // What is no path at all is refused later.
  if (typeof value !== "string" || value === "" || value.includes("\0")) return value;
  if (PATH_NAMES.has(name)) return resolve(folder, value);
  if (name !== "listen" || !value.startsWith(SOCKET_SCHEME) || value === SOCKET_SCHEME) return value;
  return SOCKET_SCHEME + resolve(folder, value.slice(SOCKET_SCHEME.length));
}
