import { z } from "zod";
import { UsageError } from "../host/usage.ts";
import { HoldfastError } from "../session/errors.ts";
import { EXIT, exitCodeFor } from "./exit-codes.ts";

export interface InvokeOptions {
  readonly url: string;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

const answerSchema = z.object({
  message: z.string(),
  reason: z.looseObject({ kind: z.string() }),
});
const problemSchema = z.object({
  code: z.string(),
  title: z.string(),
  detail: z.string(),
  hint: z.string().optional(),
});

/** The Host did not answer as a Host does. */
class HostError extends HoldfastError {
  readonly code = "host-unreachable";
}

/** `holdfast invoke`: one Turn on a running Host. Prints the answer's text on stdout, and nothing else there. */
export async function invoke(input: string, options: InvokeOptions): Promise<number> {
  const url = invocationUrl(options.url);
  const { provider, model } = options;
  if ((provider === undefined) !== (model === undefined)) {
    throw new UsageError(
      "--provider and --model go together",
      "Give both, or neither for the Host's own route.",
    );
  }
  const route = provider === undefined || model === undefined ? undefined : { provider, model };
  if (input.trim() === "")
    throw new UsageError("The text is empty", "Say something: holdfast invoke 'Hello'");
  let interrupted = false;
  process.on("SIGINT", () => {
    if (interrupted) process.exit(EXIT.interrupted);
    interrupted = true;
    // The answer to the invocation itself tells how it ended; a failing cancel only means that it ended already.
    send(url, { method: "DELETE" }).catch(() => process.exit(EXIT.interrupted));
  });
  const response = await send(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input, ...(route === undefined ? {} : { route }) }),
  });
  const body = await readJson(response, options.url);
  if (interrupted && !response.ok) return EXIT.interrupted;
  if (!response.ok) return reportProblem(body, options.url);
  const { message, reason } = answerSchema.parse(body);
  if (message !== "") process.stdout.write(message.endsWith("\n") ? message : `${message}\n`);
  if (reason.kind === "completed") return EXIT.ok;
  process.stderr.write(`holdfast: the Turn ended early: ${describeReason(reason)}\n`);
  return EXIT.failure;
}

function invocationUrl(base: string): URL {
  const root = URL.parse(base.endsWith("/") ? base : `${base}/`);
  if (root === null || !/^https?:$/.test(root.protocol)) {
    throw new UsageError(
      `--url cannot be ${JSON.stringify(base)}`,
      "Give the URL that `holdfast serve` printed.",
    );
  }
  return new URL(`api/v1/agent/invocations/${crypto.randomUUID()}`, root);
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  const token = process.env["HOLDFAST_TOKEN"];
  const headers = new Headers(init.headers);
  if (token !== undefined && token !== "") headers.set("authorization", `Bearer ${token}`);
  try {
    // A Turn takes as long as it takes; the Host's own timeouts bound it.
    return await fetch(url, { ...init, headers, timeout: false });
  } catch (cause) {
    if (!isRefused(cause)) {
      throw new HostError(`The Host at ${url.origin} went away before it answered`, {
        hint: "The input may have been recorded. Start the Host, and read the session before you send it again.",
        cause,
      });
    }
    throw new HostError(
      `No Host answers at ${url.origin}: ${cause instanceof Error ? cause.message : cause}`,
      {
        hint: "Start one with `holdfast serve`, or give its address with --url.",
        cause,
      },
    );
  }
}

/** Whether nobody listens there: then nothing was sent. */
function isRefused(cause: unknown): boolean {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  return ["ConnectionRefused", "ECONNREFUSED", "FailedToOpenSocket", "ENOTFOUND"].includes(code);
}

async function readJson(response: Response, url: string): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    throw new HostError(`What answers at ${url} is not a Holdfast Host (status ${response.status})`, {
      hint: "Check --url.",
      cause,
    });
  }
}

function reportProblem(body: unknown, url: string): number {
  const problem = problemSchema.safeParse(body);
  if (!problem.success)
    throw new HostError(`What answers at ${url} is not a Holdfast Host`, { hint: "Check --url." });
  const { detail, hint, code } = problem.data;
  process.stderr.write(`holdfast: ${detail}\n${hint === undefined ? "" : `  hint: ${hint}\n`}`);
  return exitCodeFor(code);
}

function describeReason({ kind, error }: { readonly kind: string; readonly error?: unknown }): string {
  const message = typeof error === "object" && error !== null ? Reflect.get(error, "message") : undefined;
  return typeof message === "string" ? message : kind;
}
