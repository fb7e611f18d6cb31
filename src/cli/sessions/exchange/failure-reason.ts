import { formatPlace } from "../../../session/errors.ts";
import type { HoldfastError } from "../../../store/errors.ts";

/**
 * What failed and where, as reports say it of one session among several.
 * @param path of the file that it is about, where the error names none
 */
export function failureReason(
  { message, place }: Pick<HoldfastError, "message" | "place">,
  path?: string,
): string {
  const where = formatPlace(path === undefined ? place : { path, ...place });
  return where === "" ? message : `${message} (${where})`;
}
