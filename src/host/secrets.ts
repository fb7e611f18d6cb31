import { PROVIDERS, type ProviderKind } from "../agent/providers/index.ts";
import { readSettingFile } from "./setting-file.ts";
import { type RawOption, type RawOptions, UsageError } from "./usage.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value that must stand nowhere else, and what holds it. */
export interface Secret {
  readonly holder: string;
  readonly value: string;
}

/** Shorter ones, such as the key `ollama` of a server that wants any, may stand in other texts by chance. */
const LEAST_LENGTH = 16;
export const TOKEN_VARIABLE = "HOLDFAST_TOKEN";

/**
 * The secrets that the environment holds for the Host. Options may hold none of them: what they say is recorded in the
 * session, logged, or shown in messages.
 * @throws UsageError naming the option that holds one
 */
export function findSecrets(raw: RawOptions, env: Environment): readonly Secret[] {
  const kinds: readonly ProviderKind[] = Object.values(PROVIDERS);
  const usual = kinds.flatMap((kind) => ("connect" in kind ? [kind.apiKeyEnv] : []));
  const names = [TOKEN_VARIABLE, raw["apiKeyEnv"]?.value, ...usual];
  const secrets = names.flatMap((name) => {
    const value = typeof name === "string" ? env[name] : undefined;
    return value === undefined || value.length < LEAST_LENGTH ? [] : [{ holder: String(name), value }];
  });
  for (const { value, source } of Object.values(raw)) {
    assertWithout(secrets, typeof value === "string" ? value : JSON.stringify(value), source);
  }
  return secrets;
}

/** @throws UsageError when a text that is no secret holds one */
export function assertWithout(secrets: readonly Secret[], text: string | undefined, source: string): void {
  for (const { holder, value } of secrets) {
    const quoted = JSON.stringify(value).slice(1, -1);
    if (text?.includes(value) !== true && text?.includes(quoted) !== true) continue;
    throw new UsageError(
      `${source} holds the secret of the variable ${holder}`,
      "What it says is recorded or shown. Name the variable of an API key with --api-key-env.",
    );
  }
}

/** The API key in the variable that an option names. The name is told only if it looks like one: it may be a key. @throws UsageError */
export function readApiKey(name: string, source: string, env: Environment): string {
  const shown = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(name) ? `${name} ` : "";
  const value = env[name];
  if (value === undefined || value === "") {
    throw new UsageError(
      `The variable ${shown}that ${source} names is not set`,
      shown === ""
        ? "Give the name of a variable that holds the API key, not the key itself."
        : `Set ${shown}to the API key.`,
    );
  }
  assertCarried(value, /^[\x21-\x7e]+$/, `The API key in the variable ${shown}that ${source} names`);
  return value;
}

/** The token of HTTP clients: in a file, or else in its variable, where empty counts as none. @throws UsageError */
export function readToken(file: RawOption | undefined, env: Environment): string | undefined {
  const what = file === undefined ? `The variable ${TOKEN_VARIABLE}` : `The file that ${file.source} names`;
  const content =
    file === undefined ? env[TOKEN_VARIABLE] : readSettingFile(file.source, String(file.value)).text;
  if (content === undefined || (content === "" && file === undefined)) return undefined;
  const token = content.trim();
  if (token === "") throw new UsageError(`${what} is empty`, "Write the token into it.");
  assertCarried(token, /^[\x20-\x7e]+$/, what);
  return token;
}

function assertCarried(secret: string, pattern: RegExp, what: string): void {
  if (pattern.test(secret)) return;
  throw new UsageError(
    `${what} holds blanks, line breaks or other characters that no header can carry`,
    "Give it alone, in one line, without quotes.",
  );
}
