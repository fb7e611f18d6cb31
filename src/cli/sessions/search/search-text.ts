import { excerptOf, type Room } from "../../../session/search/excerpt.ts";
import type { Said } from "../../../session/search/said.ts";
import type { SearchStep } from "../../../store/search/search.ts";
import { jsonText } from "../../json-text.ts";
import { printableLine } from "../../printable.ts";

export type Hit = Extract<SearchStep, { kind: "hit" }>;

/** How a hit is shown to a person. */
export interface SnippetStyle {
  /** What stands before and after what matches. */
  readonly mark: readonly [string, string];
  /** Columns of a line; nothing where it is no terminal. */
  readonly width: number | undefined;
}

const BOLD_RED = "\u001b[1;31m";
const PLAIN = "\u001b[0m";
/** Characters of an excerpt where nothing limits a line. */
const ROOM: Room = { before: 40, match: 120, after: 80 };
/** Columns of an excerpt however narrow a terminal is. */
const LEAST_WIDTH = 24;
const GAP = "  ";

/** The style for standard output: matches are marked on a terminal, unless NO_COLOR is set or it is dumb. */
export function snippetStyle(): SnippetStyle {
  const { NO_COLOR, TERM } = process.env;
  const isTerminal = process.stdout.isTTY === true;
  const isMarked = isTerminal && (NO_COLOR ?? "") === "" && TERM !== "dumb";
  return {
    mark: isMarked ? [BOLD_RED, PLAIN] : ["", ""],
    // A terminal that does not know its width says 0.
    width: isTerminal ? process.stdout.columns || 80 : undefined,
  };
}

/** One line. Source: docs/cli.md. */
export function hitText({ sessionId, said, match }: Hit, { mark, width }: SnippetStyle): string {
  const place = `seq ${said.seq}${GAP}turn ${said.turn}${GAP}${speakerText(said)}`;
  const head = `${printableLine(sessionId)}${GAP}${place}${GAP}`;
  const room = width === undefined ? ROOM : roomFor(width - 1 - Bun.stringWidth(head));
  const { before, match: found, after } = excerptOf(said.text, match, room, columnsOf);
  const [begin, end] = mark;
  const text = `${onOneLine(before).trimStart()}${begin}${onOneLine(found)}${end}${onOneLine(after).trimEnd()}`;
  return `${head}${text}\n`;
}

/** One JSON object on a line. Source: docs/cli.md. */
export function hitJson({ sessionId, said, match }: Hit): string {
  const { text, ...place } = said;
  return `${jsonText({ sessionId, ...place, ...excerptOf(text, match, ROOM) })}\n`;
}

function speakerText({ who, tool, part }: Said): string {
  if (who !== "tool") return who;
  return printableLine(["tool", ...(tool === "" ? [] : [tool]), part].join(" "));
}

function roomFor(width: number): Room {
  const whole = Math.max(LEAST_WIDTH, width);
  const before = Math.floor(whole / 4);
  const match = Math.floor(whole / 2);
  // An ellipsis may stand at both ends and in the match.
  return { before: before - 1, match: match - 1, after: whole - before - match - 1 };
}

function columnsOf(character: string): number {
  if (character.length === 1 && character >= " " && character <= "~") return 1;
  return Math.max(1, Bun.stringWidth(printableLine(character)));
}

function onOneLine(text: string): string {
  return printableLine(text.replace(/\s+/g, " "));
}
