import type { Output } from "../output.ts";
import { PrintablePieces, printable, printableLine } from "../printable.ts";
import type { TurnUpdate, TurnView } from "./source.ts";
import { StreamedWrap } from "./streamed-wrap.ts";

/** How a terminal is written to. */
export interface TerminalStyle {
  /** Whether text may be dimmed. */
  readonly dim: boolean;
  /** Columns of a line. */
  readonly width: () => number;
}

/** The style for standard output: dimmed text unless NO_COLOR is set (https://no-color.org) or the terminal is dumb. */
export function terminalStyle({
  NO_COLOR,
  TERM,
}: Readonly<Record<string, string | undefined>>): TerminalStyle {
  return {
    dim: (NO_COLOR ?? "") === "" && TERM !== "dumb",
    // A terminal that does not know its width says 0.
    width: () => process.stdout.columns || 80,
  };
}

/** What stands around the arguments of a call and the usual outcome. */
const CALL_FRAME = "[ : ok]".length;
/** Columns that the arguments of a call get at least. */
const LEAST_ARGUMENTS = 8;

/**
 * Shows a Turn on a terminal while it runs: the answer's text as it comes, reasoning dimmed or between marks, a line for
 * each tool call. Nothing that a model or a tool wrote can steer the terminal.
 */
export class TerminalView implements TurnView {
  readonly #output: Pick<Output, "write" | "flush">;
  readonly #style: TerminalStyle;
  /** The block of text that is being written. */
  #block:
    | {
        readonly key: string;
        readonly kind: "text" | "reasoning";
        readonly pieces: PrintablePieces;
        readonly lines: StreamedWrap;
      }
    | undefined;
  /** The call whose line waits for its outcome. */
  #call: string | undefined;
  #atLineStart = true;
  /** Whether the answer's text was shown. */
  #hasText = false;
  /** Whether what was shown last was reasoning between marks. */
  #marked = false;

  constructor(output: Pick<Output, "write" | "flush">, style: TerminalStyle) {
    this.#output = output;
    this.#style = style;
  }

  async show(update: TurnUpdate): Promise<void> {
    switch (update.kind) {
      case "text":
      case "reasoning":
        await this.#piece(update.kind, update.text, update.block);
        break;
      case "call":
        await this.#closeAll();
        await this.#write(this.#dimmed(this.#callHead(update)));
        this.#call = update.callId;
        break;
      case "result": {
        const outcome =
          update.failure === undefined ? "ok" : ["failed", update.failure].filter(Boolean).join(" ");
        if (this.#call !== update.callId) {
          await this.#closeAll();
          await this.#write(this.#dimmed(this.#callHead(update)));
        }
        await this.#write(this.#dimmed(`: ${printableLine(outcome)}]`));
        this.#call = undefined;
        await this.#endLine();
        break;
      }
      case "retry":
        await this.#note(`${update.message}; trying again in ${(update.delayMs / 1000).toFixed(1)} s`);
        break;
      case "done":
        await this.#closeAll();
        // A Host of an earlier version does not stream.
        if (!this.#hasText && update.answer.message !== "")
          await this.#write(this.#wrapped(update.answer.message));
    }
    await this.#output.flush();
  }

  async end(): Promise<void> {
    await this.#closeAll();
    await this.#output.flush();
  }

  async #piece(kind: "text" | "reasoning", text: string, key: string): Promise<void> {
    if (this.#block?.key !== key || this.#block.kind !== kind) {
      await this.#closeAll();
      this.#block = {
        key,
        kind,
        pieces: new PrintablePieces(),
        lines: new StreamedWrap(this.#style.width),
      };
      await this.#mark(kind);
    }
    if (kind === "text") this.#hasText = true;
    const { pieces, lines } = this.#block;
    await this.#write(lines.push(pieces.push(text)), kind);
  }

  /** Says without colours what is reasoning and what is not. */
  async #mark(kind: "text" | "reasoning"): Promise<void> {
    if (this.#style.dim) return;
    if (kind === "reasoning") await this.#write("(reasoning)\n");
    else if (this.#marked) await this.#write("(answer)\n");
    this.#marked = kind === "reasoning";
  }

  #wrapped(text: string): string {
    const lines = new StreamedWrap(this.#style.width);
    return lines.push(printable(text)) + lines.end();
  }

  /** A line of ours. */
  async #note(text: string): Promise<void> {
    await this.#closeAll();
    await this.#write(`${this.#dimmed(`[${printableLine(text)}]`)}\n`);
  }

  #callHead({ name, arguments: args }: { readonly name: string; readonly arguments: string }): string {
    const shownName = printableLine(name);
    const room = this.#style.width() - CALL_FRAME - Bun.stringWidth(shownName);
    return `[${shownName} ${cutToWidth(printableLine(args), Math.max(LEAST_ARGUMENTS, room))}`.trimEnd();
  }

  async #closeAll(): Promise<void> {
    const block = this.#block;
    this.#block = undefined;
    if (block !== undefined) {
      const { pieces, lines, kind } = block;
      await this.#write(lines.push(pieces.end()) + lines.end(), kind);
    }
    if (this.#call !== undefined) await this.#write(this.#dimmed("]"));
    this.#call = undefined;
    await this.#endLine();
  }

  async #endLine(): Promise<void> {
    if (!this.#atLineStart) await this.#write("\n");
  }

  async #write(text: string, kind: "text" | "reasoning" = "text"): Promise<void> {
    if (text === "") return;
    this.#atLineStart = text.endsWith("\n");
    await this.#output.write(kind === "reasoning" ? this.#dimmed(text) : text);
  }

  /** Ends with each piece, so that a process that is killed leaves no dimmed terminal behind. */
  #dimmed(text: string): string {
    return this.#style.dim ? `\u001b[2m${text}\u001b[22m` : text;
  }
}

function cutToWidth(text: string, width: number): string {
  return Bun.stringWidth(text) <= width ? text : `${Bun.sliceAnsi(text, 0, width - 1)}…`;
}
