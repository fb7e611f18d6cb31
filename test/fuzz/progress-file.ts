import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/*
 * What a child is doing right now, where its parent finds it even when the child hangs: it only ever writes it down.
 */

const WIDTH = 400;

export interface Doing {
  readonly number: number;
  readonly step: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** How long it may take, in milliseconds. */
  readonly patience: number;
}

export class ProgressFile implements Disposable {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "r+");
  }

  write(doing: Doing): void {
    const text = JSON.stringify({ ...doing, step: doing.step.replaceAll(/[^ -~]/g, "?").slice(0, 200) });
    const bytes = Buffer.from(text.padEnd(WIDTH));
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Nothing where none was written yet, or where it is just being written. */
export function readDoing(path: string): Doing | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8").trimEnd());
  } catch {
    return undefined;
  }
}
