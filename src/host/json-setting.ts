import { z } from "zod";
import { findJsonFault, type JsonObject } from "../session/json.ts";

/** A JSON object, as a value of a configuration file or as text of a flag. */
export const jsonObjectSchema = z
  .unknown()
  .transform((value) => (typeof value === "string" ? parse(value) : value))
  .pipe(z.custom<JsonObject>(isJsonObject, { error: 'it must be a JSON object, such as {"top_k":20}' }));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJsonObject(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && findJsonFault(value) === undefined
  );
}
