import { fitting, graphemes } from "../shorten.ts";

/**
 * Names of at most so many columns each, of which no two that differ look the same: of a longer one the middle is left
 * out, since models of one kind differ at their ends; where that is not enough it gets a number.
 */
export function tellable(names: readonly string[], columns: number): readonly string[] {
  const shown = new Map<string, string>();
  const taken = new Set(names.filter((name) => Bun.stringWidth(name) <= columns));
  for (const name of names) {
    if (shown.has(name)) continue;
    let text = shortened(name, columns);
    for (let n = 2; text !== name && taken.has(text); n += 1) {
      const mark = ` (${n})`;
      text = shortened(name, columns - mark.length) + mark;
    }
    taken.add(text);
    shown.set(name, text);
  }
  return names.map((name) => shown.get(name) ?? name);
}

function shortened(name: string, columns: number): string {
  if (Bun.stringWidth(name) <= columns) return name;
  const tail = ending(name, Math.floor(columns / 2));
  return `${fitting(name, columns - 1 - Bun.stringWidth(tail))}…${tail}`;
}

/** The end of a line that fits into so many columns, cut between characters. */
function ending(line: string, columns: number): string {
  let start = line.length;
  let width = 0;
  for (const { segment, index } of [...graphemes(line)].reverse()) {
    width += Bun.stringWidth(segment);
    if (width > columns) break;
    start = index;
  }
  return line.slice(start);
}
