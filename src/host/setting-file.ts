import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { shownPath } from "./shown-value.ts";
import { UsageError } from "./usage.ts";

/** More than any of these files needs; what is larger is another file than was meant. */
const MOST_BYTES = 1024 * 1024;
/** Longest wait for whoever writes into a pipe. */
const PATIENCE_MS = 10_000;

/** The contents of a file that an option names. */
export interface SettingFile {
  readonly text: string;
  /** Not so for a pipe, such as that of `<(command)` in a shell, whose folder means nothing. */
  readonly isRegular: boolean;
}

/** Reads the file that an option names: UTF-8, without a byte order mark, at most 1 MiB. @throws UsageError */
export function readSettingFile(source: string, path: string): SettingFile {
  let bytes: Uint8Array;
  let isRegular: boolean;
  try {
    // Not blocking: a pipe that nobody writes into would hold the start up for ever, deaf to signals.
    const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = fstatSync(file);
      if (stats.isDirectory()) throw unusable(source, path, "it is a folder");
      isRegular = stats.isFile();
      bytes = readAll(file, () => unusable(source, path, "it is larger than 1 MiB"));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unusable(source, path, codeOf(error) ?? "unknown");
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), isRegular };
  } catch {
    throw unusable(source, path, "it is no UTF-8 text");
  }
}

function readAll(file: number, tooLarge: () => UsageError): Uint8Array {
  const bytes = new Uint8Array(MOST_BYTES + 1);
  let length = 0;
  let deadline: number | undefined;
  for (;;) {
    try {
      const count = readSync(file, bytes, length, bytes.length - length, null);
      if (count === 0) return bytes.subarray(0, length);
      length += count;
    } catch (error) {
      deadline ??= performance.now() + PATIENCE_MS;
      if (codeOf(error) !== "EAGAIN" || performance.now() > deadline) throw error;
      Bun.sleepSync(5);
    }
    if (length > MOST_BYTES) throw tooLarge();
  }
}

function unusable(source: string, path: string, reason: string): UsageError {
  return new UsageError(
    `The file that ${source} names cannot be read: ${shownPath(path)} (${reason})`,
    "Check the path.",
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
