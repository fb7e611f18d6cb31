import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { workspaceTools } from "../../../src/agent/tools/index.ts";
import { listFilesSchema } from "../../../src/agent/tools/list-files.ts";
import { readFileSchema } from "../../../src/agent/tools/read-file.ts";
import { searchTextSchema } from "../../../src/agent/tools/search-text.ts";

const SCHEMAS = new Map<string, z.ZodType>([
  ["list_files", listFilesSchema],
  ["read_file", readFileSchema],
  ["search_text", searchTextSchema],
]);

/** A JSON Schema without what only explains it. */
function rules(schema: unknown): unknown {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === "description" || key === "$schema" ? undefined : value)),
  );
}

describe("the built-in tools", () => {
  const tools = workspaceTools("/nowhere");

  test("are these, and all of them", () => {
    expect(tools.map((tool) => tool.name).sort()).toEqual([...SCHEMAS.keys()]);
  });

  test.each(tools.map((tool) => [tool.name, tool] as const))(
    "%s tells the model what its handler checks",
    (name, tool) => {
      const schema = SCHEMAS.get(name);
      if (schema === undefined) throw new Error(`no schema for ${name}`);
      expect(rules(tool.parameters)).toEqual(rules(z.toJSONSchema(schema, { io: "input" })));
    },
  );

  test.each(tools.map((tool) => [tool.name, tool] as const))(
    "%s explains each of its parameters",
    (_, tool) => {
      const properties = z.record(z.string(), z.object({ description: z.string().min(10) }));
      expect(properties.safeParse(tool.parameters["properties"]).error).toBeUndefined();
    },
  );
});
