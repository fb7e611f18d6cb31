/** What stands in the place of a secret. */
export const MASK = "[redacted]";

/** Part of a text, from the first unit to the one behind the last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
