/** What a person said: an input for the agent, or a command for the chat itself. */
export type Entry =
  | { readonly kind: "input"; readonly text: string }
  /** The words behind the slash. */
  | { readonly kind: "command"; readonly name: string }
  /** A line that other programs are left with. */
  | { readonly kind: "farewell"; readonly text: string };

const FENCE = '"""';
const FAREWELLS: ReadonlySet<string> = new Set(["exit", "quit"]);

/**
 * Makes inputs of lines. A line that ends in a backslash goes on with the next one; a line of three quotation marks opens
 * and closes a block, in which lines are taken as they are. An input that begins with a slash is a command, and with two
 * slashes an input that begins with one.
 */
export class InputAssembler {
  #lines: string[] = [];
  #isBlock = false;
  readonly #hasFarewells: boolean;

  /** @param hasFarewells whether a line that other programs are left with is told from an input */
  constructor(hasFarewells = false) {
    this.#hasFarewells = hasFarewells;
  }

  /** Whether lines are missing. */
  get isOpen(): boolean {
    return this.#isBlock || this.#lines.length > 0;
  }

  /** Takes a line. Returns what is complete with it, unless that is nothing but white space. */
  add(line: string): Entry | undefined {
    const isFence = line.trim() === FENCE;
    if (this.#isBlock && !isFence) this.#lines.push(line);
    else if (this.#isBlock) return asInput(this.#take());
    else if (isFence && !this.isOpen) this.#isBlock = true;
    else if (line.endsWith("\\")) this.#lines.push(line.slice(0, -1));
    else {
      if (this.#hasFarewells && !this.isOpen && FAREWELLS.has(line.trim()))
        return { kind: "farewell", text: line.trim() };
      this.#lines.push(line);
      return toEntry(this.#take());
    }
    return undefined;
  }

  /** Takes several lines that were pasted together: as they are, and as the end of an input that is not a block. */
  addPasted(lines: readonly string[]): Entry | undefined {
    this.#lines.push(...lines);
    return this.#isBlock ? undefined : asInput(this.#take());
  }

  /** Forgets what is not complete. */
  clear(): void {
    this.#take();
  }

  #take(): string {
    const text = this.#lines.join("\n");
    this.#lines = [];
    this.#isBlock = false;
    return text;
  }
}

function asInput(text: string): Entry | undefined {
  return text.trim() === "" ? undefined : { kind: "input", text };
}

function toEntry(text: string): Entry | undefined {
  if (text.startsWith("//")) return asInput(text.slice(1));
  return text.startsWith("/") ? { kind: "command", name: text.slice(1).trim() } : asInput(text);
}
