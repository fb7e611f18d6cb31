import { PROBLEM_KINDS } from "./problem.ts";

/** The schema of every error answer; see problem.ts. */
export const PROBLEM_SCHEMA = {
  type: "object",
  properties: {
    type: { type: "string", const: "about:blank" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string" },
    detail: { type: "string" },
    hint: { type: "string" },
  },
  required: ["type", "title", "status", "code", "detail"],
} as const;

/** What the OpenAPI document says of one error status of a route. */
export interface ProblemResponse {
  readonly description: string;
  readonly content: Readonly<Record<"application/problem+json", { readonly schema: object }>>;
}

/** What any request may be answered with, whatever it asks for. */
const COMMON = ["unauthorised", "foreign-host", "foreign-origin", "internal"];

/** The error answers of a route by status, those of every route among them, for its part of the OpenAPI document. */
export function problemResponses(...codes: readonly string[]): Record<number, ProblemResponse> {
  const byStatus = Map.groupBy([...codes, ...COMMON], (code) => PROBLEM_KINDS[code]?.status ?? 500);
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, problemResponse(group)]));
}

/** An error answer with one of these codes; with any code when none is named. */
export function problemResponse(codes: readonly string[], description = listed(codes)): ProblemResponse {
  const code = codes.length === 0 ? {} : { properties: { code: { enum: codes } } };
  const schema = { $ref: "#/components/schemas/Problem", ...code };
  return { description, content: { "application/problem+json": { schema } } };
}

function listed(codes: readonly string[]): string {
  return codes.map((code) => `\`${code}\`: ${PROBLEM_KINDS[code]?.title ?? "Internal error"}`).join("; ");
}
