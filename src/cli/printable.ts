/*
 * Text of a log as a terminal may be shown it. What a model or a tool wrote must not move the cursor, recolour the
 * screen or turn the direction of what follows.
 */

/** Control characters, halves of characters, line separators, and what changes the direction of text. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function escapeUnsafe(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A text of several lines: line feeds and tabs stay, everything unsafe is escaped as in JSON. */
export function printable(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(UNSAFE, (character) =>
      character === "\n" || character === "\t" ? character : escapeUnsafe(character),
    );
}

/** The same on one line. */
export function printableLine(text: string): string {
  return text.replace(UNSAFE, escapeUnsafe);
}
