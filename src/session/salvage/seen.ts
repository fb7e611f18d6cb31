/** Seqs that share one piece of memory. */
const CHUNK = 32;

/** 52 bits that stand for a text: whether two texts are the same, without keeping them. Never 0. */
export function fingerprint(text: string): number {
  return Bun.hash.xxHash32(text) * 2 ** 20 + (Bun.hash.xxHash32(text, 1) >>> 12) + 1;
}

/** A fingerprint for each seq, in some ten bytes an event where seqs lie together. */
export class SeenSeqs {
  readonly #chunks = new Map<number, Float64Array>();
  #size = 0;

  /** Number of seqs. */
  get size(): number {
    return this.#size;
  }

  /** The fingerprint of this seq; nothing where it was not seen. */
  get(seq: number): number | undefined {
    const mark = this.#chunks.get(Math.floor(seq / CHUNK))?.[seq % CHUNK];
    return mark === 0 ? undefined : mark;
  }

  set(seq: number, mark: number): void {
    const key = Math.floor(seq / CHUNK);
    const chunk = this.#chunks.get(key) ?? new Float64Array(CHUNK);
    if (chunk[seq % CHUNK] === 0) this.#size += 1;
    chunk[seq % CHUNK] = mark;
    this.#chunks.set(key, chunk);
  }

  /** The seqs, in no order. */
  *seqs(): Generator<number> {
    for (const [key, chunk] of this.#chunks) {
      for (const [k, mark] of chunk.entries()) if (mark !== 0) yield key * CHUNK + k;
    }
  }
}

/** Several fingerprints for each seq: those of all branches of a log. */
export class SeenBranches {
  readonly #layers: SeenSeqs[] = [];

  has(seq: number, mark: number): boolean {
    return this.#layers.some((layer) => layer.get(seq) === mark);
  }

  add(seq: number, mark: number): void {
    const free = this.#layers.find((layer) => layer.get(seq) === undefined) ?? new SeenSeqs();
    if (free.size === 0) this.#layers.push(free);
    free.set(seq, mark);
  }

  /** The seqs, each once, in no order. */
  seqs(): Iterable<number> {
    // A seq is in the first layer, or nowhere.
    return this.#layers[0]?.seqs() ?? [];
  }
}
