import { graphemes } from "../shorten.ts";

/** Columns between two places that a tab leads to. */
const TAB = 8;

/** One line as lines of at most so many columns: broken between words, and within a word that is wider than a line. */
export function wrapped(line: string, columns: number): string[] {
  const text = line.includes("\t") ? expandTabs(line) : line;
  if (Bun.stringWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let current = "";
  let width = 0;
  const next = (start: string, startWidth: number) => {
    lines.push(current.trimEnd());
    current = start;
    width = startWidth;
  };
  // Words, and what stands between them. A space that does not fit is the break itself.
  for (const [piece] of text.matchAll(/ +|[^ ]+/g)) {
    const pieceWidth = Bun.stringWidth(piece);
    if (width + pieceWidth <= columns) {
      current += piece;
      width += pieceWidth;
    } else if (piece.startsWith(" ") && current !== "") {
      next("", 0);
    } else if (pieceWidth <= columns) {
      next(piece, pieceWidth);
    } else {
      for (const { segment } of graphemes(piece)) {
        const segmentWidth = Bun.stringWidth(segment);
        if (width + segmentWidth > columns && current !== "") next(segment, segmentWidth);
        else {
          current += segment;
          width += segmentWidth;
        }
      }
    }
  }
  if (current !== "" || lines.length === 0) lines.push(current);
  return lines;
}

function expandTabs(line: string): string {
  let text = "";
  for (const [k, part] of line.split("\t").entries()) {
    if (k > 0) text += " ".repeat(TAB - (Bun.stringWidth(text) % TAB));
    text += part;
  }
  return text;
}
