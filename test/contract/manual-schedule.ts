/** A `schedule` whose time the test owns: what waits runs when the test says so. */
export class ManualSchedule {
  readonly #waiting = new Set<() => void>();

  /** Number of tasks that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  readonly schedule = (task: () => void): Disposable => {
    const entry = () => task();
    this.#waiting.add(entry);
    return { [Symbol.dispose]: () => void this.#waiting.delete(entry) };
  };

  /** Lets the time of all that waits pass. */
  fire(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    for (const task of due) task();
  }
}
