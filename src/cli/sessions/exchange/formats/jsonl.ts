import type { SessionRecord } from "../../../../session/records.ts";
import type { ExportedHead, ExportFormat } from "./format.ts";

/** How the first line of each session begins. */
export const HEADER_START = '{"type":"session",';

/**
 * Lines of JSON: the header, and then every event as it is stored, byte for byte, or as it would stand alone. What is
 * written of one session is a session log as it stands (docs/format.md); several follow each other.
 */
export class JsonlFormat implements ExportFormat {
  readonly needsFacts = false;
  readonly #shown: (line: string) => string;

  /** @param shown what stands for a line where it is read; the line itself in a file */
  constructor(shown: (line: string) => string = (line) => line) {
    this.#shown = shown;
  }

  shows(): boolean {
    return true;
  }

  begin(): string {
    return "";
  }

  beginSession({ headerText }: Omit<ExportedHead, "facts">): string {
    return `${this.#shown(headerLine(headerText))}\n`;
  }

  event({ text }: SessionRecord): string {
    return `${this.#shown(onOneLine(text))}\n`;
  }

  pass(): void {
    // It shows every record.
  }

  rest(): string {
    return "";
  }

  endSession(): string {
    return "";
  }

  end(): string {
    return "";
  }
}

/** A log file says its kind of record first of all, and its delegation depth; a row need not. The rest stays as it is. */
function headerLine(headerText: string): string {
  let line = onOneLine(headerText).trim();
  const { type, delegationDepth, ...members }: Readonly<Record<string, unknown>> = JSON.parse(line);
  if (type === undefined) line = HEADER_START + line.slice(1).trimStart();
  // Only another program puts it elsewhere.
  else if (!line.startsWith(HEADER_START))
    line = JSON.stringify({
      type: "session",
      ...members,
      ...(delegationDepth === undefined ? {} : { delegationDepth }),
    });
  return delegationDepth === undefined ? `${line.slice(0, -1)},"delegationDepth":0}` : line;
}

/** Between the members of a row that another program wrote there may be line feeds. */
export function onOneLine(text: string): string {
  return text.includes("\n") ? text.replaceAll("\n", " ") : text;
}
