import type { TurnUpdate, TurnView } from "./source.ts";

/** Keeps the text of the last answer of a Turn while it comes: of a Turn that is cancelled nobody tells it. */
export class AnswerText implements TurnView {
  /** The Step that the text is of. */
  #step: string | undefined;
  /** Its blocks in their order, each as the pieces that it came in. */
  #blocks = new Map<string, string[]>();

  /** As far as it came; empty where there is none. */
  get text(): string {
    return Array.from(this.#blocks.values(), (pieces) => pieces.join("")).join("\n");
  }

  async show(update: TurnUpdate): Promise<void> {
    if (update.kind !== "text") return;
    const { text, block } = update;
    const step = block.split("/", 2).join("/");
    if (step !== this.#step) this.#blocks.clear();
    this.#step = step;
    const pieces = this.#blocks.get(block);
    if (pieces === undefined) this.#blocks.set(block, [text]);
    else pieces.push(text);
  }

  async end(): Promise<void> {
    // Nothing stands open.
  }
}
