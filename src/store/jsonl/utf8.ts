import type { Place } from "../../session/errors.ts";
import { CorruptError } from "../errors.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of these bytes, or nothing when they are not valid UTF-8. */
export function tryUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** @throws CorruptError */
export function decodeUtf8(bytes: Uint8Array, place: Place): string {
  const text = tryUtf8(bytes);
  if (text !== undefined) return text;
  throw new CorruptError("A line is not UTF-8", { expected: "valid UTF-8", found: "other bytes", place });
}
