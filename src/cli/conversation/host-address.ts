import { resolve } from "node:path";
import { UsageError } from "../../host/usage.ts";

/** Where a Host listens. */
export interface HostAddress {
  /** What paths are resolved against. */
  readonly base: URL;
  /** Socket in the file system, in place of the address in `base`. */
  readonly unix?: string;
  /** For people. */
  readonly name: string;
}

/** Reads `http://…`, `https://…` or `unix:PATH`. @throws UsageError naming `source` */
export function parseHostAddress(text: string, source: string): HostAddress {
  if (/^unix:./s.test(text)) {
    return { base: new URL("http://localhost/"), unix: resolve(text.slice("unix:".length)), name: text };
  }
  const base = URL.parse(text.endsWith("/") ? text : `${text}/`);
  if (base !== null && /^https?:$/.test(base.protocol)) return { base, name: base.origin };
  throw new UsageError(
    `${source} cannot be ${JSON.stringify(text)}`,
    "Give the URL that `holdfast serve` printed.",
  );
}
