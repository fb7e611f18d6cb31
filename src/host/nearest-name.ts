/** The name that was most likely meant: the same but for letter case and separators, or at most two letters away. */
export function nearestName(word: string, names: Iterable<string>): string | undefined {
  const wanted = plain(word);
  let best: string | undefined;
  let least = Math.min(3, wanted.length);
  for (const name of names) {
    const distance = editDistance(wanted, plain(name), least);
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** `--session-db`, `session_db`, `HOLDFAST_SESSION_DB` and `sessionDb` are one name in four places. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/^holdfast_/, "")
    .replaceAll(/[^a-z0-9]/g, "");
}

/**
 * How many letters to change, add, leave out, or swap with the next one, to get from one word to the other; `limit` where
 * they are so many or more, which is soon seen of words that are not alike.
 */
export function editDistance(from: string, to: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  // Row by row of the usual table, as far from its diagonal as may be.
  let [further, above, current] = [rowOf(to), rowOf(to), rowOf(to)];
  for (let k = 0; k <= to.length; k += 1) above[k] = k;
  for (let row = 1; row <= from.length; row += 1) {
    current.fill(Number.POSITIVE_INFINITY);
    current[0] = row;
    let least = row;
    const last = Math.min(to.length, row + limit);
    for (let k = Math.max(1, row - limit); k <= last; k += 1) {
      const change = cell(above, k - 1) + (from[row - 1] === to[k - 1] ? 0 : 1);
      const isSwapped = from[row - 1] === to[k - 2] && from[row - 2] === to[k - 1];
      const swap = isSwapped ? cell(further, k - 2) + 1 : change;
      const distance = Math.min(change, swap, cell(above, k) + 1, cell(current, k - 1) + 1);
      current[k] = distance;
      least = Math.min(least, distance);
    }
    if (least >= limit) return limit;
    [further, above, current] = [above, current, further];
  }
  return Math.min(cell(above, to.length), limit);
}

function rowOf(word: string): number[] {
  return new Array<number>(word.length + 1).fill(Number.POSITIVE_INFINITY);
}

function cell(row: readonly number[], k: number): number {
  return row[k] ?? Number.POSITIVE_INFINITY;
}
