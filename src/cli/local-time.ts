/* Times for people are those where the reader is. */

const LAST_DATE = 8.64e15;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** Minutes that clocks show more than in UTC, at a time in epoch milliseconds. */
export type Offset = (time: number) => number;

const localOffset: Offset = (time) => -Math.round(new Date(time).getTimezoneOffset());

/**
 * Times of one text, as in `2026-11-30 05:14:38 (UTC+01:00)`: the first one tells how far it is from UTC, and so does each
 * from which on that is another one.
 */
export class LocalTimes {
  readonly #offsetAt: Offset;
  #told: number | undefined;

  constructor(offsetAt: Offset = localOffset) {
    this.#offsetAt = offsetAt;
  }

  /** @param time epoch milliseconds; the number itself is told where no calendar goes that far */
  text(time: number): string {
    const offset = time > LAST_DATE ? 0 : this.#offsetAt(time);
    const shown = time + offset * MINUTE;
    if (shown > LAST_DATE) return String(time);
    const text = new Date(shown)
      .toISOString()
      .replace("T", " ")
      .replace(/\.\d+Z$/, "");
    if (offset === this.#told) return text;
    this.#told = offset;
    return `${text} (${offsetText(offset)})`;
  }
}

/** The day that a time is of, where the reader is, as a number of days from 1970-01-01 on. */
export function localDay(time: number, offsetAt: Offset = localOffset): number {
  return Math.floor((time + (time > LAST_DATE ? 0 : offsetAt(time)) * MINUTE) / DAY);
}

/** The name of the time zone where the reader is, as in `Europe/Berlin`. */
export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function offsetText(offset: number): string {
  if (offset === 0) return "UTC";
  const minutes = Math.abs(offset);
  const parts = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `UTC${offset < 0 ? "-" : "+"}${parts.join(":")}`;
}
