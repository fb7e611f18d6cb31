import { z } from "zod";
import { PROVIDER_NAMES } from "../agent/providers/index.ts";
import { jsonObjectSchema } from "./json-setting.ts";

/** One setting. Its schema is made when a value is given: making all of them would cost a start several milliseconds. */
export interface Setting<T, F extends T | undefined> {
  readonly schema: () => z.ZodType<T>;
  /** The value where none is given. */
  readonly fallback: F;
  /** How much of what is kept one of what is given is: 1000 for seconds, which are kept in milliseconds. */
  readonly scale?: number;
}

/** The values of settings, those without a fallback as far as they are given. */
export type Values<S> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T, infer F> ? T | F : never;
};

function setting<T>(schema: () => z.ZodType<T>): Setting<T, undefined>;
function setting<T>(schema: () => z.ZodType<T>, fallback: T): Setting<T, T>;
function setting<T>(schema: () => z.ZodType<T>, fallback?: T): Setting<T, T | undefined> {
  return { schema, fallback };
}

/** Given in seconds, kept in milliseconds. */
function duration(least: number, fallback: number): Setting<number, number> {
  return { schema: () => seconds(least), fallback, scale: 1000 };
}

const NOT_A_NUMBER = { error: "it must be a number" };
/** Not `z.coerce.number()` alone, for which an empty text is 0. Adding 0 turns -0, which no log takes, into 0. */
const number = () =>
  z
    .union([z.number(), z.string().regex(/^-?(\d+(\.\d+)?|\.\d+)$/, NOT_A_NUMBER)], NOT_A_NUMBER)
    .transform((value) => Number(value) + 0);
const within = (least: number, most: number) => {
  const error = `it must be from ${least} to ${most}`;
  return number().pipe(z.number().min(least, { error }).max(most, { error }));
};
const seconds = (least: number) => within(least, 86_400).transform((value) => Math.round(value * 1000));
const wholeNumber = (least: number, most: number) =>
  within(least, most).refine(Number.isInteger, { error: "it must be a whole number" });
const text = () => z.string({ error: "it must be a text" }).min(1, { error: "it is empty" });
const path = () => text().refine((value) => !value.includes("\0"), { error: "it must be a path" });

const baseUrl = () =>
  z
    .url({ protocol: /^https?$/, error: "it must be an http or https URL" })
    .refine((url) => !/[?#]/.test(url), { error: "it must end before ? and #: paths are added to it" })
    .refine((url) => !/:[/]*[^/]*@/.test(url), { error: "it must not hold a user or a password" });

/** Not what providers keep from it anyway: a setting without effect would mislead. */
const extraBody = () =>
  jsonObjectSchema().refine(
    (body) => !["model", "messages", "stream"].some((name) => Object.hasOwn(body, name)),
    { error: "it must not hold model, messages or stream, which are given otherwise" },
  );

const provider = () => z.enum(PROVIDER_NAMES, { error: `it must be one of ${PROVIDER_NAMES.join(", ")}` });

const stops = () =>
  z
    .unknown()
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .pipe(z.array(text()).min(1, { error: "it is empty" }));

const variableName = () =>
  z
    .string({ error: "it must be a text" })
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "it must be the name of a variable" });

/**
 * What can be set of an agent and its store, by the name of the flag in camel case; the same names stand in a
 * configuration file. Durations are given in seconds unless said otherwise.
 */
export const agentSettings = {
  sessionDb: setting(path),
  sessionDir: setting(path),
  jsonlEncoding: setting(() => z.enum(["zstd", "none"], { error: "it must be zstd or none" })),
  sessionId: setting(text),
  forkFrom: setting(text),
  at: setting(() => wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  provider: setting(provider, "demo"),
  model: setting(text),
  baseUrl: setting(baseUrl),
  apiKeyEnv: setting(variableName),
  reasoningEffort: setting(text),
  temperature: setting(() => within(0, 2)),
  maxTokens: setting(() => wholeNumber(1, 10_000_000)),
  stop: setting(stops),
  extraBody: setting(extraBody),
  connectTimeout: duration(0.001, 120_000),
  idleTimeout: duration(0.001, 300_000),
  requestTimeout: duration(0.001, 600_000),
  retries: setting(() => wholeNumber(0, 10), 2),
  maxSteps: setting(() => wholeNumber(1, 1_000), 32),
  toolTimeout: duration(0.001, 120_000),
  workspace: setting(path, "."),
  systemPromptFile: setting(path),
  /** Milliseconds. */
  chunkWindow: setting(() => within(0, 60_000), 100),
  drainTimeout: duration(0, 10_000),
};

/** What can be set of a Host beside its agent: where and for whom it listens. */
export const listenSettings = {
  host: setting(text, "127.0.0.1"),
  port: setting(() => wholeNumber(0, 65_535), 8765),
  listen: setting(() => path().regex(/^unix:./s, { error: "it must be unix:PATH" })),
  tokenFile: setting(path),
  maxQueue: setting(() => wholeNumber(0, 10_000), 64),
};

/** Every name that may stand in a configuration file. */
export const SETTING_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(agentSettings),
  ...Object.keys(listenSettings),
]);

/** Those that are paths. In a configuration file they begin at its folder. */
export const PATH_NAMES: ReadonlySet<string> = new Set([
  "sessionDb",
  "sessionDir",
  "workspace",
  "systemPromptFile",
  "tokenFile",
]);
/** What stands before the path in `listen`. */
export const SOCKET_SCHEME = "unix:";
