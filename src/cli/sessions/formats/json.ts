import type { SessionRecord } from "../../../session/records.ts";
import { jsonText } from "../../json-text.ts";
import { printableLine } from "../../printable.ts";
import type { ExportedHead, ExportedTail, ExportFormat } from "./format.ts";

/** One JSON object, with a line for each event. Source of its shape: docs/cli.md. */
export class JsonFormat implements ExportFormat {
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
    // A log file says its kind of record; that of a header is known here.
    const { type: _, ...header }: Readonly<Record<string, unknown>> = JSON.parse(headerText);
    return `${separator}\n{"header":${jsonText(header)},"events":[`;
  }

  event({ text }: SessionRecord): string {
    const separator = this.#hasEvent ? "," : "";
    this.#hasEvent = true;
    return `${separator}\n${printableLine(text)}`;
  }

  endSession({ events, ...tail }: ExportedTail): string {
    return `\n],"count":${events},${jsonText(tail).slice(1)}`;
  }

  end(): string {
    return "\n]}\n";
  }
}
