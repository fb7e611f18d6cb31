import { graphemes } from "./sessions/shorten.ts";

/* Lines that fit a terminal. */

/** Columns between two places that a tab leads to. */
const TAB = 8;

/** Columns of the terminal that standard output is; nothing where it is none, and lines are not wrapped. */
export function outputColumns(
  { isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns"> = process.stdout,
): number | undefined {
  // A terminal that does not know its width says 0.
  return isTTY === true ? columns || 80 : undefined;
}

/**
 * A line of Holdfast's own as lines of at most so many columns, those behind the first one indented. A word that is wider
 * stays whole, so that a path or a command can be copied.
 */
export function hanging(line: string, columns: number | undefined, indent = ""): string {
  if (columns === undefined) return line;
  const [first = "", ...others] = wrapped(line, columns, "whole");
  if (others.length === 0) return first;
  const rest = wrapped(line.slice(first.length).trimStart(), columns - indent.length, "whole");
  return [first, ...rest.map((text) => indent + text)].join("\n");
}

/** A label, padded, and a value beside it, which is wrapped as a line of ours is. */
export function labelled(label: string, value: string, columns: number | undefined): string {
  if (columns === undefined) return label + value;
  return label + wrapped(value, columns - label.length, "whole").join(`\n${" ".repeat(label.length)}`);
}

/**
 * One line as lines of at most so many columns, broken between words.
 * @param wide whether a word that is wider than a line is broken, or has a line that is too long
 */
export function wrapped(line: string, columns: number, wide: "broken" | "whole" = "broken"): string[] {
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
    } else if (pieceWidth <= columns || (wide === "whole" && current.trim() !== "")) {
      next(piece, pieceWidth);
    } else if (wide === "whole") {
      current += piece;
      width += pieceWidth;
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
