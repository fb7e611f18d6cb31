import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import type { Tool, ToolOutput } from "../tool.ts";
import { defineTool } from "./define.ts";
import { MAX_OUTPUT_BYTES, plural, SNIFF_BYTES, trimPartial, withNotes } from "./text.ts";
import { type Workspace, workspaceError } from "./workspace.ts";

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
      const { handle, size } = await workspace.openFile(target);
      try {
        const reader = new LineReader(handle, target.shown, size, signal);
        return await readLines(reader, { shown: target.shown, size, offset, limit });
      } finally {
        await handle.close();
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
      `${JSON.stringify(shown)} has ${lines}; line ${offset} is past its end.`,
    );
  }
  const { bytes, isCut, isInsideLine } = fit(window);
  // Invalid UTF-8 becomes U+FFFD; a byte order mark at the start of the file goes.
  const text = new TextDecoder("utf-8", { ignoreBOM: offset > 1 }).decode(bytes);
  const lines = countLines(bytes);
  const last = offset + lines - 1;
  const isAtEnd = !isCut && reader.isAtEnd;
  const meta = { path: shown, size, offset, lines };
  if (window.length === 0) return { text: withNotes("", ["The file is empty."]), meta };
  if (isAtEnd) return { text, meta };
  const range = lines === 1 ? `Line ${offset}` : `Lines ${offset} to ${last}`;
  const notes = [`${range} of a file of ${size} bytes.`];
  if (isInsideLine) notes.push(`Line ${last} is longer than what fits; its rest is left out.`);
  notes.push(`Read on with offset ${last + 1}.`);
  return { text: withNotes(text, notes), meta };
}

/** Cuts what is longer than the bound: after its last whole line, or between characters when not even one fits. */
function fit(window: Uint8Array): { bytes: Uint8Array; isCut: boolean; isInsideLine: boolean } {
  if (window.length <= MAX_OUTPUT_BYTES) return { bytes: window, isCut: false, isInsideLine: false };
  const end = window.lastIndexOf(NEWLINE, MAX_OUTPUT_BYTES - 1);
  if (end >= 0) return { bytes: window.subarray(0, end + 1), isCut: true, isInsideLine: false };
  return { bytes: trimPartial(window.subarray(0, MAX_OUTPUT_BYTES)), isCut: true, isInsideLine: true };
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
  readonly #handle: FileHandle;
  readonly #shown: string;
  readonly #size: number;
  readonly #signal: AbortSignal;
  /** One buffer for all blocks: garbage of 64 KiB a block would pile up faster than it is collected. */
  readonly #buffer = new Uint8Array(BLOCK_BYTES);
  #block: Uint8Array = new Uint8Array(0);
  #read = 0;

  constructor(handle: FileHandle, shown: string, size: number, signal: AbortSignal) {
    this.#handle = handle;
    this.#shown = shown;
    this.#size = size;
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
    return this.#block.length === 0 && this.#read >= this.#size;
  }

  /** Makes sure that bytes are at hand; false at the end of the file. */
  async #fill(): Promise<boolean> {
    if (this.#block.length > 0) return true;
    this.#signal.throwIfAborted();
    if (this.#read > MAX_READ_BYTES) {
      throw workspaceError(
        "WORKSPACE_PAST_END",
        `That line of ${JSON.stringify(this.#shown)} lies more than ${MAX_READ_BYTES} bytes into the file, out of reach.`,
      );
    }
    const buffer = this.#buffer;
    const { bytesRead } = await this.#handle.read(buffer, 0, BLOCK_BYTES, this.#read);
    if (this.#read === 0 && buffer.subarray(0, Math.min(bytesRead, SNIFF_BYTES)).includes(0)) {
      throw workspaceError(
        "WORKSPACE_BINARY",
        `${JSON.stringify(this.#shown)} is a binary file, which cannot be shown.`,
      );
    }
    this.#read += bytesRead;
    this.#block = buffer.subarray(0, bytesRead);
    return bytesRead > 0;
  }
}
