import type { Subprocess } from "bun";

/** Longest wait for what a page shows, in milliseconds. */
const PATIENCE = 20_000;

type Child = Subprocess<"ignore", "pipe", "inherit">;

/** A command in the background that prints more and more until Ctrl-C. */
export class Follower {
  readonly #child: Child;
  readonly #reader: ReturnType<typeof readerOf>;
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(child: Child) {
    this.#child = child;
    this.#reader = readerOf(child);
  }

  /** Resolves with what it has printed when that is what was expected, or when nothing more comes. */
  async output(isExpected: (text: string) => boolean): Promise<string> {
    const late = setTimeout(() => this.#child.kill("SIGINT"), PATIENCE);
    while (!isExpected(this.#text)) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
    clearTimeout(late);
    return this.#text;
  }

  /** Ctrl-C. Resolves with its exit code. */
  async stop(): Promise<number> {
    this.#child.kill("SIGINT");
    await this.#reader.cancel();
    return await this.#child.exited;
  }
}

function readerOf({ stdout }: Child) {
  return stdout.getReader();
}
