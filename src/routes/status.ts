import { Elysia } from "elysia";
import { z } from "zod";
import type { SessionPersistence } from "../store/persistence.ts";
import { PROBLEM_KINDS, type Problem } from "./problem.ts";
import { problemResponse } from "./problem-responses.ts";
import { PROTECTED_JSON } from "./protection.ts";

export interface StatusServices {
  readonly persistence: SessionPersistence;
  /** Whether the Host has begun to shut down. */
  readonly closing: () => boolean;
  readonly version: VersionInfo;
}

const versionSchema = z.object({
  name: z.string(),
  version: z.string(),
  bun: z.string(),
  platform: z.string(),
  sessionFormat: z.number(),
});
export type VersionInfo = z.infer<typeof versionSchema>;

const HEALTHY = JSON.stringify({ status: "ok" });
const HEALTHY_SCHEMA = {
  type: "object" as const,
  properties: { status: { type: "string" as const, const: "ok" } },
  required: ["status"],
  additionalProperties: false,
};

/** `GET /healthz`, `/readyz` and `/version`. */
export function statusRoutes({ persistence, closing, version }: StatusServices) {
  return new Elysia({ name: "status" })
    .get("/healthz", () => new Response(HEALTHY, { headers: PROTECTED_JSON }), {
      // A schema of the answer would check each one, and make the fixed text wait for it.
      detail: {
        summary: "Whether the process answers",
        responses: {
          200: { description: "It does", content: { "application/json": { schema: HEALTHY_SCHEMA } } },
        },
      },
    })
    .get(
      "/readyz",
      async () => {
        const { backend, writable, problem } = await persistence.health();
        const code = closing() ? "closing" : writable ? undefined : (problem ?? "storage-failed");
        if (code === undefined) return { status: "ready" as const, backend };
        return degraded(code);
      },
      {
        detail: {
          summary: "Whether the store takes writes",
          description:
            "Degraded from a failed commit until one works, and where the disk was full until there is room again.",
          responses: {
            200: { description: "Ready" },
            503: problemResponse([], "Degraded; `code` names the failure, such as `storage-full`"),
          },
        },
      },
    )
    .get("/version", () => version, {
      response: { 200: versionSchema },
      detail: { summary: "What runs here", responses: { 200: { description: "This program" } } },
    });
}

/** Readiness is 503 whatever the failure's own status is. */
function degraded(code: string): Response {
  const title = PROBLEM_KINDS[code]?.title ?? "Storage failed";
  const body: Problem & { readonly state: "degraded" } = {
    type: "about:blank",
    title,
    status: 503,
    code,
    detail: "The store does not take writes now. Reads go on.",
    state: "degraded",
  };
  return new Response(JSON.stringify(body), {
    status: 503,
    headers: { "content-type": "application/problem+json", "retry-after": "1" },
  });
}
