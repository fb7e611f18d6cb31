const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** A size as a person reads it, as in `512 B` or `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  let value = bytes;
  let unit: string = "B";
  for (const next of UNITS) {
    // Where it would round to the next unit, it is one of those.
    if (value < 1_023.95) break;
    value /= 1_024;
    unit = next;
  }
  return `${value.toFixed(1).replace(/\.0$/, "")} ${unit}`;
}
