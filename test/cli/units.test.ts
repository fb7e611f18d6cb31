import { expect, test } from "bun:test";
import { formatBytes } from "../../src/cli/doctor/units.ts";
import { formatMilliseconds } from "../../src/store/health/sync-probe.ts";

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1 KiB"],
  [1_536, "1.5 KiB"],
  [1_048_575, "1 MiB"],
  [67_108_864, "64 MiB"],
  [270_553_174_016, "252 GiB"],
  [2 ** 60, "1024 PiB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, "0 µs"],
  [0.0004, "0 µs"],
  [0.0994, "99 µs"],
  [0.345, "0.34 ms"],
  [9.5, "9.50 ms"],
  [12.34, "12.3 ms"],
  [2_104.2, "2104 ms"],
])("%d milliseconds are %s", (milliseconds, text) => {
  expect(formatMilliseconds(milliseconds)).toBe(text);
});
