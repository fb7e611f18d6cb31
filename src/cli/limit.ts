import { UsageError } from "../host/usage.ts";

/** What a list or a search is bounded to without `--limit`. */
const NO_LIMIT = 1_000_000_000;

/**
 * The value of `--limit`: below {@link NO_LIMIT}.
 * @param hint what it limits
 * @throws UsageError
 */
export function parseLimit(text: string | undefined, hint: string): number {
  if (text === undefined) return NO_LIMIT;
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsageError(
    `--limit cannot be ${JSON.stringify(text)}: it must be a whole number from 1 to ${NO_LIMIT - 1}`,
    hint,
  );
}
