import { extname } from "node:path";
import type { SessionHeader } from "../../../../session/header.ts";
import type { SessionRecord } from "../../../../session/records.ts";
import { printableLine } from "../../../printable.ts";

/** What is told of a session above its events. */
export interface HeadFacts {
  /** On one line; masked where that was asked for. */
  readonly title?: string;
  /** The last model that was asked, with its provider. */
  readonly model?: string;
}

/** A session among those that will be written. */
export interface ContentsEntry extends HeadFacts {
  /** Masked where that was asked for. */
  readonly id: string;
}

/** A session as a format begins it. */
export interface ExportedHead {
  readonly header: SessionHeader;
  /** As it is stored, masked where that was asked for. */
  readonly headerText: string;
  /** Empty unless the format {@link ExportFormat.needsFacts}. */
  readonly facts: HeadFacts;
}

/** What is known of a session behind its last event. */
export interface ExportedTail {
  readonly events: number;
  /** Of what is stored, as it was before anything was masked. */
  readonly digest: string;
  /** Whether the end of the log is damaged or was never fully written; that piece is left out. */
  readonly torn: boolean;
  /** Places that were masked in this session; absent where nothing was to be masked. */
  readonly masked?: number;
}

/** Writes sessions as text, one after the other, each as it is read. The same sessions give the same text. */
export interface ExportFormat {
  /** Whether it tells of a session what all of it must be read for, above its events, and of all sessions what there is. */
  readonly needsFacts: boolean;
  /** Whether it shows this record by itself, as {@link event}; others it is given to {@link pass}. */
  shows(record: SessionRecord): boolean;
  /**
   * What precedes the first session.
   * @param contents all that will be written; empty unless the format {@link needsFacts}
   */
  begin(contents: readonly ContentsEntry[]): string;
  beginSession(head: ExportedHead): string;
  /** An event by itself: the record is no run. Empty where the format does not show it. */
  event(record: SessionRecord): string;
  /** Takes note of a record that it does not show by itself: as it is stored, not masked, perhaps a run. */
  pass(record: SessionRecord): void;
  /** What is still to be shown behind the last event that was read: an answer that none ends. */
  rest(): string;
  endSession(tail: ExportedTail): string;
  /** What follows the last session. */
  end(): string;
}

/** A text with its secrets masked, where that is asked for. */
export type Mask = (text: string) => string;

export const FORMAT_NAMES = ["md", "json", "jsonl", "html"] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/**
 * A writer of this format. Each one's code is loaded when it is asked for.
 * @param isTerminal whether what is written is shown on a terminal, and nowhere else
 * @param mask gives what stands for a text that it puts together of records that it passed
 */
export async function openFormat(name: FormatName, isTerminal: boolean, mask: Mask): Promise<ExportFormat> {
  switch (name) {
    case "md":
      return new (await import("./markdown.ts")).MarkdownFormat(mask);
    case "html":
      return new (await import("./html.ts")).HtmlFormat(mask);
    case "json":
      return new (await import("./json.ts")).JsonFormat();
    case "jsonl":
      return new (await import("./jsonl.ts")).JsonlFormat(isTerminal ? printableLine : undefined);
  }
}

const ENDINGS: ReadonlyMap<string, FormatName> = new Map([
  ["md", "md"],
  ["markdown", "md"],
  ["html", "html"],
  ["htm", "html"],
  ["json", "json"],
  ["jsonl", "jsonl"],
  ["ndjson", "jsonl"],
]);

/** The format that the ending of a file's name tells: Markdown without one, and nothing where it is that of another format. */
export function formatOfFile(path: string): FormatName | undefined {
  const ending = extname(path).slice(1).toLowerCase();
  return ending === "" ? "md" : ENDINGS.get(ending);
}
