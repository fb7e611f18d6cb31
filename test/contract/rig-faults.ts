import { FaultyBackend, type Hold, type Hook } from "../fixtures/faults.ts";

/** Faults of one case: what it still holds when it fails is let go, so that its store can close. */
export class RigFaults extends FaultyBackend {
  readonly #holds: Hold[] = [];

  override hold(hook: Hook, call?: number): Hold {
    const hold = super.hold(hook, call);
    this.#holds.push(hold);
    return hold;
  }

  releaseAll(): void {
    for (const hold of this.#holds) hold.release();
  }
}
