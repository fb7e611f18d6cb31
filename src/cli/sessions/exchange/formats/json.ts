import type { SessionRecord } from "../../../../session/records.ts";
import { jsonText } from "../../../json-text.ts";
import { printableLine } from "../../../printable.ts";
import type { ExportedHead, ExportedTail, ExportFormat } from "./format.ts";
import { HEADER_START, onOneLine } from "./jsonl.ts";

/** One JSON object, with a line for each event. Source of its shape: docs/cli.md. */
export class JsonFormat implements ExportFormat {
  readonly needsFacts = false;
  #hasSession = false;
  #hasEvent = false;

  shows(): boolean {
    return true;
  }

  begin(): string {
    return '{"sessions":[';
  }

  beginSession({ headerText }: ExportedHead): string {
    const separator = this.#hasSession ? "," : "";
    this.#hasSession = true;
    this.#hasEvent = false;
    return `${separator}\n{"header":${printableLine(withoutType(headerText))},"events":[`;
  }

  event({ text }: SessionRecord): string {
    const separator = this.#hasEvent ? "," : "";
    this.#hasEvent = true;
    return `${separator}\n${printableLine(onOneLine(text))}`;
  }

  pass(): void {
    // It shows every record.
  }

  rest(): string {
    return "";
  }

  endSession({ events, ...tail }: ExportedTail): string {
    return `\n],"count":${events},${jsonText(tail).slice(1)}`;
  }

  end(): string {
    return "\n]}\n";
  }
}

/** A log file says its kind of record; that of a header is known here. The rest stays as it is. */
function withoutType(headerText: string): string {
  if (headerText.startsWith(HEADER_START)) return `{${headerText.slice(HEADER_START.length)}`;
  const { type, ...header }: Readonly<Record<string, unknown>> = JSON.parse(headerText);
  return type === undefined ? onOneLine(headerText) : JSON.stringify(header);
}
