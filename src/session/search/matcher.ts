import { fold } from "./fold.ts";

/** Where a text matches, in UTF-16 units. Never empty. */
export interface Match {
  readonly at: number;
  readonly length: number;
}

export interface Matcher {
  /** The first match. */
  find(text: string): Match | undefined;
  /** A text that stands, folded, in the folded form of all that matches; nothing where none is known. */
  readonly needle: string | undefined;
}

/** Looks for a text as it is, in any case unless told otherwise. It must not be empty. */
export function textMatcher(text: string, isCaseSensitive: boolean): Matcher {
  const wanted = isCaseSensitive ? text : fold(text);
  if (wanted === "") throw new RangeError("an empty text is everywhere");
  return {
    // Half of a character may be the half of any other, which is folded in another way.
    needle: text.isWellFormed() ? fold(text) : undefined,
    find: (searched) => {
      const at = (isCaseSensitive ? searched : fold(searched)).indexOf(wanted);
      return at < 0 ? undefined : { at, length: wanted.length };
    },
  };
}

/**
 * Looks for what a regular expression matches, `^` and `$` at each line. It is searched with as it is: one that goes back
 * and forth without end does so here, and nothing but the end of the process stops it.
 * @throws SyntaxError
 */
export function patternMatcher(source: string, isCaseSensitive: boolean): Matcher {
  const pattern = new RegExp(source, isCaseSensitive ? "gmu" : "gimu");
  return {
    needle: undefined,
    find: (searched) => {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(searched); match !== null; match = pattern.exec(searched)) {
        const [{ length }] = match;
        if (length > 0) return { at: match.index, length };
        // A match of nothing is none, and is found again where it was.
        pattern.lastIndex += (searched.codePointAt(match.index) ?? 0) > 0xffff ? 2 : 1;
      }
      return undefined;
    },
  };
}
