/** The name that was most likely meant: the same but for letter case and separators, or at most two letters away. */
export function nearestName(word: string, names: Iterable<string>): string | undefined {
  const wanted = plain(word);
  let best: string | undefined;
  let least = Math.min(3, wanted.length);
  for (const name of names) {
    const distance = editDistance(wanted, plain(name));
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

/** How many letters to change, add or leave out to get from one word to the other. */
function editDistance(from: string, to: string): number {
  // Row by row of the usual table; only names are compared, so that nobody waits.
  let above = Array.from({ length: to.length + 1 }, (_, k) => k);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (let k = 0; k < to.length; k += 1) {
      const change = (above[k] ?? 0) + (letter === to[k] ? 0 : 1);
      current.push(Math.min(change, (above[k + 1] ?? 0) + 1, (current[k] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? to.length;
}
