import type { SessionRecord } from "../../../session/records.ts";
import type { ExportedHead, ExportFormat } from "./format.ts";

/** How the first line of each session begins. */
export const HEADER_START = '{"type":"session",';

/**
 * Lines of JSON: the header, and then every event as it is stored, byte for byte, or as it would stand alone. What is
 * written of one session is a session log as it stands (docs/format.md); several follow each other.
 */
export class JsonlFormat implements ExportFormat {
  shows(): boolean {
    return true;
  }

  begin(): string {
    return "";
  }

  beginSession({ headerText }: ExportedHead): string {
    const { type: _, ...members }: Readonly<Record<string, unknown>> = JSON.parse(headerText);
    // A log file says its kind of record, and its delegation depth; a row need not.
    return `${JSON.stringify({ type: "session", ...members, delegationDepth: members["delegationDepth"] ?? 0 })}\n`;
  }

  event({ text }: SessionRecord): string {
    return `${text}\n`;
  }

  endSession(): string {
    return "";
  }

  end(): string {
    return "";
  }
}
