import { describe, expect, test } from "bun:test";
import { LocalTimes, localDay } from "../../src/cli/local-time.ts";

const HOUR = 3_600_000;
/** The clocks of Berlin when summer ends: at 01:00 UTC they go back. */
const CHANGE = Date.UTC(2026, 9, 25, 1);
const berlin = (time: number) => (time < CHANGE ? 120 : 60);

describe("times for people", () => {
  test("tell how far they are from UTC once, and again where that changes", () => {
    const times = new LocalTimes(berlin);
    expect([CHANGE - HOUR, CHANGE - 1_000, CHANGE, CHANGE + HOUR].map((time) => times.text(time))).toEqual([
      "2026-10-25 02:00:00 (UTC+02:00)",
      "2026-10-25 02:59:59",
      "2026-10-25 02:00:00 (UTC+01:00)",
      "2026-10-25 03:00:00",
    ]);
  });

  test.each([
    [0, "1970-01-01 00:00:00 (UTC)"],
    [345, "1970-01-01 05:45:00 (UTC+05:45)"],
    [-210, "1969-12-31 20:30:00 (UTC-03:30)"],
  ])("of a clock that is %d minutes ahead", (offset, text) => {
    expect(new LocalTimes(() => offset).text(0)).toBe(text);
  });

  test("are numbers where no calendar goes that far", () => {
    expect(new LocalTimes(() => 60).text(8.64e15)).toBe("8640000000000000");
    expect(new LocalTimes(() => -60).text(8.64e15)).toBe("+275760-09-12 23:00:00 (UTC-01:00)");
    expect(new LocalTimes().text(Number.MAX_SAFE_INTEGER)).toBe("9007199254740991");
  });

  test("are of the day that it is where the reader is", () => {
    const midnight = Date.UTC(2026, 10, 30);
    expect([-60, 0, 60].map((offset) => localDay(midnight, () => offset) - midnight / (24 * HOUR))).toEqual([
      -1, 0, 0,
    ]);
  });
});
