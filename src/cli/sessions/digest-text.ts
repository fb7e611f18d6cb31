/** Hex digits that tell digests apart for a person. */
const SHOWN = 12;

/** The digest of a log as people are told it: its beginning. `--json` tells it whole. */
export function digestText(digest: string): string {
  return `sha256 ${digest.slice(0, SHOWN)}…`;
}
