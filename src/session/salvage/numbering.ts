/** Consecutive seqs that moved by the same distance. */
interface Stretch {
  readonly old: number;
  readonly now: number;
  count: number;
}

/** Which seq an event of the old log has in the new one. Old and new seqs are both told in ascending order. */
export class Numbering {
  readonly #stretches: Stretch[] = [];

  /** The events from `old` on have the seqs from `now` on. */
  add(old: number, now: number, count: number): void {
    const last = this.#stretches.at(-1);
    if (last !== undefined && last.old + last.count === old && last.now + last.count === now)
      last.count += count;
    else this.#stretches.push({ old, now, count });
  }

  /** The new seq; nothing where the event is not in the new log. */
  find(old: number): number | undefined {
    let low = 0;
    let high = this.#stretches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#stretches[middle]?.old ?? 0) <= old) low = middle + 1;
      else high = middle;
    }
    const stretch = this.#stretches[low - 1];
    return stretch === undefined || old >= stretch.old + stretch.count
      ? undefined
      : stretch.now + old - stretch.old;
  }

  /** The new seqs of those that are in the new log. */
  findAll(olds: readonly number[]): number[] {
    return olds.flatMap((old) => this.find(old) ?? []);
  }
}
