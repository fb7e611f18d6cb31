const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Milliseconds of an age in hours, days or weeks, such as `12h`, `30d` or `2w`; nothing for another text. */
export function parseAge(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const length = UNITS[unit];
  return number === undefined || length === undefined ? undefined : Number(number) * length;
}
