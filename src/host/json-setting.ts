import { z } from "zod";
import { findJsonFault, isJsonObject, type JsonObject } from "../session/json.ts";

/** A JSON object, as a value of a configuration file or as text of a flag. */
export const jsonObjectSchema = () =>
  z
    .unknown()
    .transform((value) => (typeof value === "string" ? parse(value) : value))
    .pipe(z.custom<JsonObject>(isStorable, { error: 'it must be a JSON object, such as {"top_k":20}' }))
    .transform(withoutMinusZero);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isStorable(value: unknown): value is JsonObject {
  return isJsonObject(value) && findJsonFault(value) === undefined;
}

/** The log takes no -0, which JSON.parse gives for the text `-0`. */
function withoutMinusZero(value: JsonObject): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isStorable(copy) ? copy : value;
}
