import { type AnyElysia, Elysia } from "elysia";
import { clip } from "../session/text.ts";
import { HEARTBEAT_MS } from "./event-stream.ts";
import { type ForkServices, forkRoutes } from "./forks.ts";
import { createGuard, type GuardOptions } from "./guard.ts";
import { type InvocationServices, invocationRoutes } from "./invocations.ts";
import { isTrouble, problem, problemFor } from "./problem.ts";
import { protect } from "./protection.ts";
import { requestPath } from "./request-path.ts";
import { sessionEventRoutes } from "./session-events.ts";
import { sessionRoutes } from "./sessions.ts";
import { type StatusServices, statusRoutes } from "./status.ts";

export { MAX_BODY } from "./json-body.ts";

/**
 * A Turn takes as long as it takes, so idle connections are not cut; a port belongs to one process, where Elysia would
 * let a second one share it; and bodies are bounded where they are read, with an answer that says so. Bun's page for
 * developers would show source code.
 */
const SERVE = {
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  idleTimeout: 0,
  reusePort: false,
  development: false,
} as const;

/** Most characters that are said of what is wrong with a request. */
const MOST_SAID = 400;

export interface AppOptions {
  readonly invocations: InvocationServices;
  readonly status: StatusServices;
  readonly guard: GuardOptions;
  readonly forks: ForkServices;
  /** How long an event stream may be quiet, in milliseconds. */
  readonly heartbeatMs?: number;
  /** Told about errors that are ours, with all that the answer leaves out; of some it is not known which request met them. */
  readonly report: (error: unknown, request?: Request) => void;
}

/** The whole HTTP surface. It listens nowhere yet. */
export function createApp(options: AppOptions) {
  const { agent } = options.invocations;
  const { heartbeatMs = HEARTBEAT_MS, report } = options;
  const guard = createGuard(options.guard);
  // The app looks at its own routes when a request asks for them.
  const self: { app?: AnyElysia } = {};
  /** Whatever goes wrong outside of all that answers with problems. */
  const error = (cause: unknown) => {
    report(cause);
    const answer = problemFor(undefined);
    protect(answer);
    return answer;
  };
  const app = new Elysia({ name: "holdfast", serve: { ...SERVE, error } })
    // Around all that Elysia does: it would copy each answer to add a header.
    .wrap((handle, request) => () => {
      const answer: unknown = guard(request) ?? handle(request);
      return answer instanceof Promise ? answer.then(protect) : protect(answer);
    })
    .onError(({ error, code, request }) => {
      switch (code) {
        case "NOT_FOUND":
          return notFound(self.app?.routes ?? [], request);
        case "PARSE":
          return problemFor(error.cause);
        case "VALIDATION":
          return invalid(error, request, options.report);
        case "INVALID_FILE_TYPE":
        case "INVALID_COOKIE_SIGNATURE":
          return problem("invalid-request", "The request cannot be read.");
        default: {
          const answer = problemFor(error);
          if (isTrouble(error, answer)) options.report(error, request);
          return answer;
        }
      }
    })
    .use(statusRoutes(options.status))
    .get("/openapi.json", () => describe(self.app), {
      detail: {
        summary: "This interface as OpenAPI 3.1",
        responses: { 200: { description: "This document" } },
      },
    })
    .group("/api/v1", (api) =>
      api
        .use(sessionRoutes(agent))
        .use(sessionEventRoutes({ agent, heartbeatMs, report }))
        .use(forkRoutes(agent.session, options.forks))
        .use(invocationRoutes(options.invocations, { heartbeatMs, report })),
    );
  self.app = app;
  return app;
}

type Routes = ReadonlyArray<{ readonly method: string; readonly path: string }>;

function notFound(routes: Routes, request: Request): Response {
  const pathname = requestPath(request);
  const methods = routes.filter(({ path }) => matches(path, pathname)).map(({ method }) => method);
  if (methods.length === 0)
    return problem("unknown-route", "There is nothing at this path.", "See /openapi.json.");
  const answer = problem("method-not-allowed", `This path takes ${methods.join(", ")}.`);
  answer.headers.set("allow", methods.join(", "));
  return answer;
}

function matches(route: string, path: string): boolean {
  const parts = route.split("/");
  // As the router takes them: with a slash at the end or without.
  const found = path.replace(/(?<=.)\/$/, "").split("/");
  return (
    parts.length === found.length &&
    parts.every((part, k) => (part.startsWith(":") ? found[k] !== "" : part === found[k]))
  );
}

/** What Elysia calls the parts of a request, where people call them otherwise. */
const PARTS: Readonly<Record<string, string>> = { params: "path", headers: "header" };

/** A request that breaks its schema is the client's mistake; an answer that does is ours. */
function invalid(
  error: { readonly type?: string; readonly all?: unknown },
  request: Request,
  report: AppOptions["report"],
) {
  if (error.type === "response") {
    report(error, request);
    return problemFor(undefined);
  }
  const where = PARTS[error.type ?? ""] ?? error.type ?? "request";
  return problem("invalid-request", `The ${where} is not valid: ${firstIssue(error.all)}`);
}

function firstIssue(issues: unknown): string {
  const [issue] = Array.isArray(issues) ? issues : [];
  if (typeof issue !== "object" || issue === null) return "another shape was expected.";
  const path: unknown = Reflect.get(issue, "path");
  const message: unknown = Reflect.get(issue, "message") ?? Reflect.get(issue, "summary");
  const where = Array.isArray(path) ? path.join(".") : String(path ?? "");
  // It may quote names that the client chose.
  return clip(`${where === "" ? "value" : where.replace(/^\//, "")}: ${String(message)}`, MOST_SAID);
}

/** Made when it is asked for: few clients ask, and the generator would slow every start. */
async function describe(app: AnyElysia | undefined): Promise<unknown> {
  const { openApiDocument } = await import("./openapi.ts");
  return app === undefined ? {} : openApiDocument(app);
}
