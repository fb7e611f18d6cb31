/*
 * Text of a log as a terminal may be shown it. What a model or a tool wrote must not move the cursor, recolour the
 * screen, turn the direction of what follows, or stand there unseen.
 */

/**
 * Control characters, halves of characters, line separators, and what changes the direction of text or shows nothing.
 * Of that, what picks the shape of the character before it stays.
 */
const UNSAFE =
  /[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--\p{Variation_Selector}]/gv;
/** Joins parts of an emoji, or shapes letters of scripts that have such shapes. Anywhere else it would hide. */
const JOINED =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f[[\p{L}\p{M}]--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Inherited}]]])[\u200c\u200d]$/v;

function escapeUnsafe(character: string): string {
  const units = Array.from({ length: character.length }, (_, k) => character.charCodeAt(k));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Everything unsafe but `kept` is escaped as in JSON. */
function escaped(text: string, kept: string): string {
  return text.replace(UNSAFE, (character, at: number) => {
    const isKept = kept.includes(character) || JOINED.test(text.slice(Math.max(0, at - 2), at + 1));
    return isKept ? character : escapeUnsafe(character);
  });
}

/** A text of several lines: line feeds and tabs stay, everything unsafe is escaped as in JSON. */
export function printable(text: string): string {
  return escaped(text.replaceAll("\r\n", "\n"), "\n\t");
}

/** The same on one line. */
export function printableLine(text: string): string {
  return escaped(text, "");
}
