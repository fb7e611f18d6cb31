import { createInterface, type Interface, type Key } from "node:readline";
import { Transform, type TransformCallback, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { printable } from "../printable.ts";
import { type Entry, InputAssembler } from "./assembler.ts";
import type { Inputs } from "./inputs.ts";
import { PasteFilter } from "./paste-filter.ts";

const PROMPT = "> ";
const MORE = "... ";
/** Has the terminal mark what is pasted, so that its line ends do not send it. */
const MARK_PASTES = "\u001b[?2004h";
const MARK_NO_PASTES = "\u001b[?2004l";

/** What the keys mean while a Turn runs. */
export interface TurnKeys {
  /** Ctrl-C, the first time and again. */
  readonly onInterrupt: (times: number) => void;
  /** Ctrl-D. */
  readonly onLeave: () => void;
}

/**
 * Lines that a person types at a terminal. While a Turn runs keys are taken but not shown; what was typed meanwhile stands
 * at the next prompt.
 */
export class TerminalInputs implements Inputs {
  readonly #keys: TurnKeys;
  readonly #screen = new Screen();
  readonly #keyboard = new Keyboard();
  readonly #marksPastes: boolean;
  readonly #readline: Interface;
  readonly #assembler = new InputAssembler(true);
  /** Complete ones that wait. */
  readonly #ready: Entry[] = [];
  /** Lines of a paste so far; absent outside of one. */
  #pasted: string[] | undefined;
  #isPasting = false;
  #wanted: PromiseWithResolvers<Entry | undefined> | undefined;
  #interrupts = 0;
  #closed = false;

  /** `history`: earlier inputs of one line, the newest first. `isDumb`: whether the terminal would show escape sequences. */
  constructor(history: readonly string[], isDumb: boolean, keys: TurnKeys) {
    this.#keys = keys;
    this.#marksPastes = !isDumb;
    this.#keyboard.prependListener("keypress", this.#onKey);
    this.#readline = createInterface({
      input: this.#keyboard,
      output: this.#screen,
      terminal: true,
      history: [...history],
      historySize: 1_000,
      removeHistoryDuplicates: true,
    });
    this.#readline.on("line", (line) => this.#onLine(line));
    this.#readline.on("SIGINT", () => this.interrupt());
    this.#readline.on("SIGCONT", () => this.#comeBack());
    this.#readline.on("close", this.#onClose);
    // A terminal that was closed. Readline passes on what its input tells, as long as it listens.
    this.#readline.on("error", this.#onClose);
    process.stdin.on("error", this.#onClose);
    process.stdin.pipe(this.#keyboard);
    process.on("exit", this.#restore);
    this.#mark(MARK_PASTES);
  }

  next(): Promise<Entry | undefined> {
    this.#interrupts = 0;
    if (this.#closed) return Promise.resolve(undefined);
    const wanted = Promise.withResolvers<Entry | undefined>();
    this.#wanted = wanted;
    const typed = this.#takeTyped();
    this.#screen.isShown = true;
    const entry = this.#ready.shift();
    if (entry === undefined) this.#prompt(typed);
    else {
      // It was sent while nothing was shown.
      const text = entry.kind === "command" ? `/${entry.name}` : entry.text;
      this.#screen.write(`${PROMPT}${printable(text)}\n`);
      this.#screen.isShown = false;
      this.#readline.write(typed);
      this.#give(entry);
    }
    return wanted.promise;
  }

  /** Ctrl-C. */
  interrupt(): void {
    if (this.#wanted === undefined) {
      this.#ready.length = 0;
      this.#forget();
      this.#interrupts += 1;
      this.#keys.onInterrupt(this.#interrupts);
      return;
    }
    const isEmpty = !this.#assembler.isOpen && this.#pasted === undefined && this.#readline.line === "";
    this.#screen.write(isEmpty ? "\n(Ctrl-D or /exit leaves)\n" : "^C\n");
    this.#forget();
    this.#prompt("");
  }

  /** Ends as if the person had left. */
  close(): void {
    if (!this.#closed) this.#readline.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    process.stdin.unpipe(this.#keyboard);
    process.stdin.pause();
    process.off("exit", this.#restore);
    this.#restore();
  }

  /** Leaves the terminal as it was, also where the process ends at once. */
  readonly #restore = (): void => {
    process.stdin.setRawMode(false);
    this.#mark(MARK_NO_PASTES);
  };

  #mark(sequence: string): void {
    if (this.#marksPastes) process.stdout.write(sequence);
  }

  /** After Ctrl-Z, for which readline has given the terminal back. */
  #comeBack(): void {
    this.#mark(MARK_PASTES);
    this.#readline.resume();
  }

  readonly #onKey = (_: unknown, key: Key | undefined): void => {
    if (key?.name === "paste-start") {
      this.#isPasting = true;
      this.#pasted ??= [];
    }
    if (key?.name === "paste-end") {
      this.#isPasting = false;
      if (this.#pasted?.length === 0) this.#pasted = undefined;
    }
    // At a prompt it is readline's, which leaves only where the line is empty.
    if (key?.ctrl !== true || key.name !== "d" || this.#isPasting || this.#wanted !== undefined) return;
    this.#ready.length = 0;
    this.close();
  };

  readonly #onClose = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#wanted === undefined) this.#keys.onLeave();
    else this.#screen.write("\n");
    this.#give(undefined);
  };

  #onLine(line: string): void {
    const pasted = this.#pasted;
    pasted?.push(line);
    if (this.#isPasting) {
      this.#askForMore();
      return;
    }
    this.#pasted = undefined;
    const entry =
      pasted === undefined ? this.#assembler.add(line) : this.#assembler.addPasted(withoutEnd(pasted));
    if (entry === undefined) this.#askForMore();
    else if (this.#wanted === undefined) this.#ready.push(entry);
    else this.#give(entry);
  }

  #give(entry: Entry | undefined): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    this.#screen.isShown = false;
    wanted?.resolve(entry);
  }

  #askForMore(): void {
    if (this.#wanted !== undefined) this.#prompt("");
  }

  #prompt(typed: string): void {
    this.#readline.setPrompt(this.#assembler.isOpen || this.#isPasting ? MORE : PROMPT);
    this.#readline.prompt();
    if (typed !== "") this.#readline.write(typed);
  }

  /** Drops what is not complete. */
  #forget(): void {
    this.#assembler.clear();
    this.#pasted = undefined;
    this.#isPasting = false;
    this.#takeTyped();
  }

  /** Empties the line, without a trace on the screen. */
  #takeTyped(): string {
    const typed = this.#readline.line;
    const { isShown } = this.#screen;
    this.#screen.isShown = false;
    if (typed !== "" && !this.#closed) {
      this.#readline.write(null, { ctrl: true, name: "e" });
      this.#readline.write(null, { ctrl: true, name: "u" });
    }
    this.#screen.isShown = isShown;
    return typed;
  }
}

/** A paste that ends in a line end leaves an empty line behind. */
function withoutEnd(lines: readonly string[]): readonly string[] {
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** The keys of the terminal as readline reads them: of a paste only the text. */
class Keyboard extends Transform {
  readonly #decoder = new StringDecoder("utf8");
  readonly #filter = new PasteFilter();

  /** Readline asks for it. */
  setRawMode(isRaw: boolean): void {
    process.stdin.setRawMode(isRaw);
  }

  override _transform(bytes: Buffer, _encoding: string, done: TransformCallback): void {
    done(null, this.#filter.push(this.#decoder.write(bytes)));
  }
}

/** The terminal as readline writes it, while it may. */
class Screen extends Writable {
  isShown = false;

  constructor() {
    super({ decodeStrings: false });
    process.stdout.on("resize", () => this.emit("resize"));
  }

  get columns(): number {
    return process.stdout.columns;
  }

  override _write(text: string | Uint8Array, _encoding: string, done: () => void): void {
    if (this.isShown) process.stdout.write(text);
    done();
  }
}
