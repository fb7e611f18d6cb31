import { z } from "zod";
import type { Tool, ToolOutput } from "../tool.ts";
import { defineTool } from "./define.ts";
import { MAX_OUTPUT_BYTES, plural, quote, sniff, trimPartial, withNotes } from "./text.ts";
import { type OpenedFile, readBlock, type Workspace, workspaceError } from "./workspace.ts";

/** How far into a file lines are looked for. */
export const MAX_READ_BYTES = 256 * 1024 * 1024;

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export const readFileSchema = z.strictObject({
  path: z.string().min(1).max(4096),
  offset: z.int().min(1).max(1e12).optional(),
  limit: z.int().min(1).max(1e12).optional(),
});

const parameters = {
  type: "object",
  properties: {
    path: {
      type: "string",
      minLength: 1,
      maxLength: 4096,
      description: "File to read, relative to the workspace.",
    },
    offset: {
      type: "integer",
      minimum: 1,
      maximum: 1e12,
      description: "First line to read, from 1. The first when absent.",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: 1e12,
      description: "Most lines to read. As many as fit when absent.",
    },
  },
  required: ["path"],
  additionalProperties: false,
};

/** `read_file`: lines of a text file as they are, in whole lines where they fit into the bound. */
export function readFile(workspace: Workspace): Tool {
  return defineTool({
    name: "read_file",
    description:
      "Reads a text file of the workspace, whole or from a line on. Returns at most " +
      `${MAX_OUTPUT_BYTES / 1024} KiB; a note in brackets at the end says what was left out and how to read on.`,
    parameters,
    schema: readFileSchema,
    async run({ path, offset = 1, limit = Number.MAX_SAFE_INTEGER }, signal) {
      const target = await workspace.resolve(path);
      const file = await workspace.openFile(target);
      try {
        return await readLines(new LineReader(file, signal), { ...file, offset, limit });
      } finally {
        await file.handle.close();
      }
    },
  });
}

async function readLines(
  reader: LineReader,
  file: { readonly shown: string; readonly size: number; readonly offset: number; readonly limit: number },
): Promise<ToolOutput> {
  const { shown, size, offset, limit } = file;
  const skipped = await reader.skipLines(offset - 1);
  const window = skipped < offset - 1 ? new Uint8Array(0) : await reader.take(limit, MAX_OUTPUT_BYTES + 1);
  if (window.length === 0 && offset > 1) {
    const lines = plural(reader.lines, "line");
    throw workspaceError(
      "WORKSPACE_PAST_END",
      `${quote(shown)} has ${lines}; line ${offset} is past its end.`,
    );
  }
  const { bytes, isCut, isInsideLine, text, isExact } = fitText(window, offset > 1);
  const lines = countLines(bytes);
  const last = offset + lines - 1;
  const isAtEnd = !isCut && reader.isAtEnd;
  const meta = { path: shown, size, offset, lines };
  if (window.length === 0) return { text: withNotes("", ["The file is empty."]), meta };
  const notes: string[] = [];
  if (!isExact) notes.push("Bytes that are no UTF-8 are shown as U+FFFD.");
  if (isAtEnd) return { text: withNotes(text, notes), meta };
  const range = lines === 1 ? `Line ${offset}` : `Lines ${offset} to ${last}`;
  notes.push(`${range} of a file of ${size} bytes.`);
  if (isInsideLine) notes.push(`Line ${last} is longer than what fits; its rest is left out.`);
  notes.push(`Read on with offset ${last + 1}.`);
  return { text: withNotes(text, notes), meta };
}

interface Fit {
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
  readonly isInsideLine: boolean;
}

/** What fits into the bound, as text. `isExact` is false when it held bytes that are no UTF-8. */
function fitText(window: Uint8Array, keepMark: boolean): Fit & { text: string; isExact: boolean } {
  const fitted = fit(window, MAX_OUTPUT_BYTES);
  try {
    const strict = new TextDecoder("utf-8", { ignoreBOM: keepMark, fatal: true });
    return { ...fitted, text: strict.decode(fitted.bytes), isExact: true };
  } catch {
    // One bad byte becomes a character of three.
    const smaller = fit(window, Math.floor(MAX_OUTPUT_BYTES / 3));
    const lenient = new TextDecoder("utf-8", { ignoreBOM: keepMark });
    return { ...smaller, text: lenient.decode(smaller.bytes), isExact: false };
  }
}

/** Cuts what is longer than the bound: after its last whole line, or between characters when not even one fits. */
function fit(window: Uint8Array, max: number): Fit {
  if (window.length <= max) return { bytes: window, isCut: false, isInsideLine: false };
  const end = window.lastIndexOf(NEWLINE, max - 1);
  if (end >= 0) return { bytes: window.subarray(0, end + 1), isCut: true, isInsideLine: false };
  return { bytes: trimPartial(window.subarray(0, max)), isCut: true, isInsideLine: true };
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return bytes.length > 0 && bytes[bytes.length - 1] !== NEWLINE ? lines + 1 : lines;
}

/** Reads a file block by block; never holds more than a block and what was asked for. */
class LineReader {
  /** Lines passed so far, the last one even without a line end. */
  lines = 0;
  readonly #file: OpenedFile;
  readonly #signal: AbortSignal;
  /** One buffer for all blocks: garbage of 64 KiB a block would pile up faster than it is collected. */
  readonly #buffer = new Uint8Array(BLOCK_BYTES);
  #block: Uint8Array = new Uint8Array(0);
  #read = 0;

  constructor(file: OpenedFile, signal: AbortSignal) {
    this.#file = file;
    this.#signal = signal;
  }

  /** Skips up to `count` lines. Returns how many whole ones there were. */
  async skipLines(count: number): Promise<number> {
    let whole = 0;
    let partial = false;
    while (whole < count && (await this.#fill())) {
      const end = this.#block.indexOf(NEWLINE);
      partial = end < 0;
      if (!partial) whole += 1;
      this.#block = partial ? new Uint8Array(0) : this.#block.subarray(end + 1);
    }
    this.lines = partial ? whole + 1 : whole;
    return whole;
  }

  /** Up to `maxLines` lines, and no more than `maxBytes` of them. */
  async take(maxLines: number, maxBytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let lines = 0;
    while (lines < maxLines && bytes < maxBytes && (await this.#fill())) {
      const end = this.#block.indexOf(NEWLINE);
      const length = Math.min(end < 0 ? this.#block.length : end + 1, maxBytes - bytes);
      parts.push(this.#block.slice(0, length));
      bytes += length;
      if (length === end + 1) lines += 1;
      this.#block = this.#block.subarray(length);
    }
    return Buffer.concat(parts);
  }

  /** Whether all is read of what the file held when it was opened. */
  get isAtEnd(): boolean {
    return this.#block.length === 0 && this.#read >= this.#file.size;
  }

  /** Makes sure that bytes are at hand; false at the end of the file. */
  async #fill(): Promise<boolean> {
    if (this.#block.length > 0) return true;
    this.#signal.throwIfAborted();
    if (this.#read > MAX_READ_BYTES) {
      throw workspaceError(
        "WORKSPACE_PAST_END",
        `That line of ${quote(this.#file.shown)} lies more than ${MAX_READ_BYTES} bytes into the file, out of reach.`,
      );
    }
    const buffer = this.#buffer;
    const bytesRead = await readBlock(this.#file, buffer, this.#read);
    if (this.#read === 0) this.#refuseBinary(buffer.subarray(0, bytesRead));
    this.#read += bytesRead;
    this.#block = buffer.subarray(0, bytesRead);
    return bytesRead > 0;
  }

  #refuseBinary(block: Uint8Array): void {
    const kind = sniff(block);
    if (kind === "text") return;
    const what =
      kind === "utf-16"
        ? "text in UTF-16; only UTF-8 can be shown."
        : "a binary file, which cannot be shown.";
    throw workspaceError("WORKSPACE_BINARY", `${quote(this.#file.shown)} is ${what}`);
  }
}
