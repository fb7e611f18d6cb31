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

/** Everything unsafe but `kept` is escaped as in JSON. `before` is the text in front of this one. */
function escaped(text: string, kept: string, before = ""): string {
  return text.replace(UNSAFE, (character, at: number) => {
    const behind = at < 2 ? before.slice(at - 2) + text.slice(0, at) : text.slice(at - 2, at);
    const isKept = kept.includes(character) || JOINED.test(behind + character);
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

/** {@link printable} for a text that comes in pieces, wherever they are cut: half a character waits for the other one. */
export class PrintablePieces {
  #before = "";
  #held = "";

  /** What can be shown now. */
  push(piece: string): string {
    const whole = this.#held + piece;
    this.#held = /[\r\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
    return this.#show(whole.slice(0, whole.length - this.#held.length));
  }

  /** What was waiting, when no more will come. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#show(rest);
  }

  #show(raw: string): string {
    const text = raw.replaceAll("\r\n", "\n");
    const shown = escaped(text, "\n\t", this.#before);
    this.#before = (this.#before + text).slice(-2);
    return shown;
  }
}
