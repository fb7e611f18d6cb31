import { toOpenAPISchema } from "@elysiajs/openapi/openapi";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { PROBLEM_SCHEMA, problemResponses } from "./problem-responses.ts";

type App = Parameters<typeof toOpenAPISchema>[0];

const contentSchema = z.record(z.string(), z.unknown());
const responsesSchema = z.record(
  z.string(),
  z.looseObject({ description: z.string(), content: contentSchema.optional() }),
);
type Responses = z.infer<typeof responsesSchema>;
const detailSchema = z.looseObject({ responses: responsesSchema.optional() });

/** The HTTP surface of `app` as an OpenAPI 3.1 document. */
export function openApiDocument(app: App): Record<string, unknown> {
  const { paths } = toOpenAPISchema(app, { staticFile: false }, undefined, { zod: z.toJSONSchema });
  for (const { method, path, hooks } of app.routes) {
    const operation: unknown = Reflect.get(
      paths[path.replace(/:(\w+)/g, "{$1}")] ?? {},
      method.toLowerCase(),
    );
    if (typeof operation !== "object" || operation === null) continue;
    const found = responsesSchema.parse(Reflect.get(operation, "responses") ?? {});
    const said = detailSchema.parse(Reflect.get(hooks, "detail") ?? {}).responses ?? {};
    Reflect.set(
      operation,
      "responses",
      merged(merged(responsesSchema.parse(problemResponses()), said), found),
    );
  }
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version: packageJson.version, description: packageJson.description },
    paths,
    components: { schemas: { Problem: PROBLEM_SCHEMA } },
  };
}

/** The generator knows the schemas of answers, a route's own words what they mean and what else it may answer. */
function merged(said: Responses, found: Responses): Responses {
  const both = Object.entries(found).map(([status, response]) => {
    const own = said[status];
    if (own === undefined) return [status, response] as const;
    const content = { ...own.content, ...response.content };
    return [status, { ...response, description: own.description, content }] as const;
  });
  return { ...said, ...Object.fromEntries(both) };
}
