/** The blocks of scripts that run from right to left, as the Unicode standard sets them apart. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * On a terminal, text that runs the other way is kept from turning what stands beside it around. Nothing is put into what
 * programs read. What would break out of it is an escape already in a printable text (printable.ts).
 */
export function isolated(text: string, isTerminal: boolean): string {
  return isTerminal && RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}
