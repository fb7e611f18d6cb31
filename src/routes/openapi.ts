import { toOpenAPISchema } from "@elysiajs/openapi/openapi";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };

type App = Parameters<typeof toOpenAPISchema>[0];

const responsesSchema = z.record(z.string(), z.looseObject({ description: z.string() }));
const detailSchema = z.looseObject({ responses: responsesSchema.optional() });

/** The schema of every error answer; see problem.ts. */
const PROBLEM = {
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
const PROBLEM_CONTENT = {
  "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
} as const;

/** The HTTP surface of `app` as an OpenAPI 3.1 document. */
export function openApiDocument(app: App): Record<string, unknown> {
  const { paths } = toOpenAPISchema(app, { staticFile: false }, undefined, { zod: z.toJSONSchema });
  for (const { method, path, hooks } of app.routes) {
    const operation: unknown = Reflect.get(
      paths[path.replace(/:(\w+)/g, "{$1}")] ?? {},
      method.toLowerCase(),
    );
    if (typeof operation !== "object" || operation === null) continue;
    // The generator leaves out what a route says of its answers where it found schemas for some of them.
    const found = responsesSchema.parse(Reflect.get(operation, "responses") ?? {});
    const said = detailSchema.parse(Reflect.get(hooks, "detail") ?? {}).responses ?? {};
    Reflect.set(operation, "responses", withProblems({ ...said, ...found }));
  }
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version: packageJson.version, description: packageJson.description },
    paths,
    components: { schemas: { Problem: PROBLEM } },
  };
}

function withProblems(responses: z.infer<typeof responsesSchema>): z.infer<typeof responsesSchema> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      Number(status) < 400 ? response : { ...response, content: PROBLEM_CONTENT },
    ]),
  );
}
