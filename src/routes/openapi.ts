import { toOpenAPISchema } from "@elysiajs/openapi/openapi";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };

/** The HTTP surface of `app` as an OpenAPI 3.1 document. */
export function openApiDocument(app: Parameters<typeof toOpenAPISchema>[0]): Record<string, unknown> {
  const { paths, components } = toOpenAPISchema(app, undefined, undefined, { zod: z.toJSONSchema });
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version: packageJson.version, description: packageJson.description },
    paths,
    components,
  };
}
