import type { z } from "zod";
import type { JsonObject } from "../../session/json.ts";
import { type Tool, ToolError, type ToolOutput } from "../tool.ts";

/**
 * A tool with typed arguments. `parameters` and `schema` say the same, the one for the model, the other for the handler.
 * Both are written down, because making one from the other would cost milliseconds at every start; a test compares them.
 */
export function defineTool<S extends z.ZodObject>(definition: {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly schema: S;
  readonly timeoutMs?: number;
  readonly run: (args: z.infer<S>, signal: AbortSignal) => Promise<ToolOutput>;
}): Tool {
  const { name, description, parameters, schema, timeoutMs, run } = definition;
  return {
    name,
    description,
    parameters,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async run(args, signal) {
      const parsed = schema.safeParse(args);
      if (!parsed.success) {
        const what = parsed.error.issues[0]?.message ?? "another shape";
        throw new ToolError(
          "ToolArgumentsError",
          "TOOL_ARGUMENTS_INVALID",
          `The arguments do not fit: ${what}`,
        );
      }
      return run(parsed.data, signal);
    },
  };
}
