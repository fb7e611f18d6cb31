import { printable, printableLine } from "../../printable.ts";
import { outputColumns, wrapped } from "../../wrap.ts";

/** Columns of a line on a terminal: not more than is easily read, nor fewer than a word takes. */
const MOST_COLUMNS = 100;
const LEAST_COLUMNS = 20;
/** Columns that arguments of a call may take where lines are not wrapped. */
const UNWRAPPED_COLUMNS = 160;
const INDENT = "  ";
/** Before what a line of ours goes on with: no text of a log begins a line. */
const HANGING = "    ";

/** How much a line stands out. */
export type Weight = "bold" | "dim" | "plain";

const CODES: Readonly<Record<Weight, readonly [string, string]>> = {
  bold: ["\u001b[1m", "\u001b[22m"],
  dim: ["\u001b[2m", "\u001b[22m"],
  plain: ["", ""],
};

export interface StyleOptions {
  /** Columns of the terminal; nothing where lines are not wrapped. */
  readonly columns?: number;
  /** Whether lines may be bold or dim. */
  readonly styled: boolean;
}

/**
 * The style for standard output. On a terminal lines are wrapped, and stand out unless NO_COLOR is set
 * (https://no-color.org) or the terminal is dumb; anywhere else they are as they are.
 */
export function outputStyle(
  { NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
  output: Pick<NodeJS.WriteStream, "isTTY" | "columns">,
): StyleOptions {
  const columns = outputColumns(output);
  if (columns === undefined) return { styled: false };
  return { columns, styled: (NO_COLOR ?? "") === "" && TERM !== "dumb" };
}

/**
 * Puts texts into lines. What was said is indented, and only what Holdfast itself says begins a line, so that no text of a
 * log can pass for the next message.
 */
export class TranscriptStyle {
  readonly #columns: number | undefined;
  readonly #styled: boolean;

  constructor({ columns, styled }: StyleOptions) {
    this.#columns =
      columns === undefined ? undefined : Math.max(LEAST_COLUMNS, Math.min(columns, MOST_COLUMNS));
    this.#styled = styled;
  }

  /** Columns of a line that is not wrapped. */
  get room(): number {
    return this.#columns ?? UNWRAPPED_COLUMNS;
  }

  /** A line that Holdfast says; what it holds of the log is made fit for a terminal. */
  own(text: string, weight: Weight = "plain"): string {
    const line = printableLine(text);
    if (this.#columns === undefined) return this.#lines([line], "", weight);
    const [first = "", ...others] = wrapped(line, this.#columns);
    if (others.length === 0) return this.#lines([first], "", weight);
    const rest = wrapped(line.slice(first.length).trimStart(), this.#columns - HANGING.length);
    return this.#lines([first], "", weight) + this.#lines(rest, HANGING, weight);
  }

  /** What somebody said, or a tool gave. */
  said(text: string, weight: Weight = "plain"): string {
    const lines = printable(text).split("\n");
    const columns = this.#columns;
    if (columns === undefined) return this.#lines(lines, INDENT, weight);
    return this.#lines(
      lines.flatMap((line) => wrapped(line, columns - INDENT.length)),
      INDENT,
      weight,
    );
  }

  #lines(lines: readonly string[], indent: string, weight: Weight): string {
    const [begin, end] = this.#styled ? CODES[weight] : CODES.plain;
    // Each line by itself, so that a reader that is cut off leaves no style behind.
    return lines.map((line) => (line === "" ? "\n" : `${indent}${begin}${line}${end}\n`)).join("");
  }
}
