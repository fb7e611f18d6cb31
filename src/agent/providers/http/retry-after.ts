/**
 * How long a provider asks to wait, in milliseconds: `Retry-After` in seconds or as a date, or `retry-after-ms`.
 *
 * @param now epoch milliseconds. A date in the past means 0; what cannot be read means undefined.
 */
export function parseRetryAfter(headers: Headers | undefined, now: number): number | undefined {
  const ms = number(headers?.get("retry-after-ms"));
  if (ms !== undefined) return Math.ceil(ms);
  const text = headers?.get("retry-after");
  const seconds = number(text);
  if (seconds !== undefined) return Math.ceil(seconds * 1000);
  // Each of HTTP's three date formats begins with a weekday; Date.parse alone takes "-5" for a date.
  const date = text != null && /^\s*[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(text: string | null | undefined): number | undefined {
  return text != null && /^\s*\d{1,12}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}
