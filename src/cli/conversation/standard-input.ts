import { UsageError } from "../../host/usage.ts";

/** As much as an HTTP request takes. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * All of standard input as text, without a byte order mark.
 * @throws UsageError when it is longer than 8 MiB, empty, or not UTF-8
 */
export async function readStandardInput(): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of Bun.stdin.stream()) {
    length += bytes.length;
    if (length > MOST_BYTES) {
      throw new UsageError(
        "The text on stdin is longer than 8 MiB",
        "Send less at once, or name a file for the tools to read.",
      );
    }
    parts.push(bytes);
  }
  const text = decode(Buffer.concat(parts));
  if (text.trim() !== "") return text;
  throw new UsageError(
    "The text on stdin is empty",
    "Pipe something into it: echo Hello | holdfast invoke -",
  );
}

/**
 * The lines of standard input, as they come.
 * @throws UsageError when a line is not UTF-8, or longer than 8 MiB
 */
export async function* standardInputLines(signal: AbortSignal): AsyncGenerator<string> {
  const reader = Bun.stdin.stream().getReader();
  const stop = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  try {
    let rest = Buffer.alloc(0);
    let isFirst = true;
    const toLine = (bytes: Buffer) => {
      const text = decode(bytes, isFirst);
      isFirst = false;
      return text.endsWith("\r") ? text.slice(0, -1) : text;
    };
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      if (done) break;
      rest = Buffer.concat([rest, value]);
      for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
        const line = rest.subarray(0, end);
        rest = rest.subarray(end + 1);
        yield toLine(line);
        if (signal.aborted) return;
      }
      if (rest.length > MOST_BYTES)
        throw new UsageError("A line on stdin is longer than 8 MiB", "Send less at once.");
    }
    if (rest.length > 0) yield toLine(rest);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

function decode(bytes: Uint8Array, isFirst = true): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: !isFirst }).decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new UsageError(
      "The text on stdin is not UTF-8",
      "Convert it first, such as with `iconv -t UTF-8`.",
    );
  }
}
