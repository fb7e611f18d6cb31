import { z } from "zod";
import type { JsonObject } from "../../session/json.ts";
import { clip } from "../../session/text.ts";

/** Says what is wrong with arguments, for a model to read; undefined when they fit. */
export type ArgumentsCheck = (args: JsonObject) => string | undefined;

// fromJSONSchema refuses what it does not know, so that any object may be handed to it.
const jsonSchema = z.custom<z.core.JSONSchema.JSONSchema>(
  (value) => typeof value === "object" && value !== null,
);

/** Compiles a JSON Schema. A schema that uses what cannot be checked fits no arguments, and the check says so. */
export function compileCheck(parameters: JsonObject): ArgumentsCheck {
  let schema: z.ZodType;
  try {
    schema = z.fromJSONSchema(jsonSchema.parse(parameters));
  } catch {
    return () =>
      "its parameters use a part of JSON Schema that cannot be checked here, so it cannot be called";
  }
  return (args) => {
    try {
      const result = schema.safeParse(args);
      return result.success ? undefined : describe(result.error);
    } catch {
      return "they could not be checked";
    }
  };
}

/** The first few findings, as in `depth: Too big: expected number to be <=8`. */
function describe(error: z.ZodError): string {
  const findings = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path.map(String).join(".");
    return clip(path === "" ? issue.message : `${path}: ${issue.message}`, 200);
  });
  const rest = error.issues.length - findings.length;
  return findings.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}
