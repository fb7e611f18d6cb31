import { printableLine } from "./printable.ts";

/**
 * A value as JSON that a terminal may be shown too: what would steer it, or not be seen, is written as an escape. It is
 * the same value to whoever parses it.
 */
export function jsonText(value: object): string {
  return printableLine(JSON.stringify(value));
}
