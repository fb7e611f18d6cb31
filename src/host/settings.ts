import { z } from "zod";
import { PROVIDER_NAMES } from "../agent/providers/index.ts";
import { jsonObjectSchema } from "./json-setting.ts";

const NOT_A_NUMBER = { error: "it must be a number" };
/** Not `z.coerce.number()` alone, for which an empty text is 0. Adding 0 turns -0, which no log takes, into 0. */
const number = z
  .union([z.number(), z.string().regex(/^-?(\d+(\.\d+)?|\.\d+)$/, NOT_A_NUMBER)], NOT_A_NUMBER)
  .transform((value) => Number(value) + 0);
const seconds = (least: number) => within(least, 86_400).transform((value) => Math.round(value * 1000));
const wholeNumber = (least: number, most: number) =>
  within(least, most).refine(Number.isInteger, { error: "it must be a whole number" });
function within(least: number, most: number) {
  const error = `it must be from ${least} to ${most}`;
  return number.pipe(z.number().min(least, { error }).max(most, { error }));
}
const text = z.string({ error: "it must be a text" }).min(1, { error: "it is empty" });
const path = text.refine((value) => !value.includes("\0"), { error: "it must be a path" });
const providers = PROVIDER_NAMES.join(", ");

const baseUrl = z
  .url({ protocol: /^https?$/, error: "it must be an http or https URL" })
  .refine((url) => !/[?#]/.test(url), { error: "it must end before ? and #: paths are added to it" })
  .refine((url) => !/:[/]*[^/]*@/.test(url), { error: "it must not hold a user or a password" });

/** Not what providers keep from it anyway: a setting without effect would mislead. */
const extraBody = jsonObjectSchema.refine(
  (body) => !["model", "messages", "stream"].some((name) => Object.hasOwn(body, name)),
  { error: "it must not hold model, messages or stream, which are given otherwise" },
);

/**
 * What can be set of an agent and its store, by the name of the flag in camel case; the same names stand in a
 * configuration file. Durations are in seconds unless said otherwise.
 */
export const agentSettings = {
  sessionDb: path.optional(),
  sessionDir: path.optional(),
  jsonlEncoding: z.enum(["zstd", "none"], { error: "it must be zstd or none" }).optional(),
  sessionId: text.optional(),
  forkFrom: text.optional(),
  at: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional(),
  provider: z.enum(PROVIDER_NAMES, { error: `it must be one of ${providers}` }).default("demo"),
  model: text.optional(),
  baseUrl: baseUrl.optional(),
  apiKeyEnv: z
    .string({ error: "it must be a text" })
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "it must be the name of a variable" })
    .optional(),
  reasoningEffort: text.optional(),
  temperature: within(0, 2).optional(),
  maxTokens: wholeNumber(1, 10_000_000).optional(),
  stop: z
    .unknown()
    .transform((value) => (Array.isArray(value) ? value : [value]))
    .pipe(z.array(text).min(1, { error: "it is empty" }))
    .optional(),
  extraBody: extraBody.optional(),
  connectTimeout: seconds(0.001).prefault(120),
  idleTimeout: seconds(0.001).prefault(300),
  requestTimeout: seconds(0.001).prefault(600),
  retries: wholeNumber(0, 10).default(2),
  maxSteps: wholeNumber(1, 1_000).default(32),
  toolTimeout: seconds(0.001).prefault(120),
  workspace: path.default("."),
  systemPromptFile: path.optional(),
  chunkWindow: within(0, 60_000).default(100),
  drainTimeout: seconds(0).prefault(10),
};

/** What can be set of a Host beside its agent: where and for whom it listens. */
export const listenSettings = {
  host: text.optional(),
  port: wholeNumber(0, 65_535).optional(),
  listen: path.regex(/^unix:./s, { error: "it must be unix:PATH" }).optional(),
  tokenFile: path.optional(),
  maxQueue: wholeNumber(0, 10_000).default(64),
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
