import { type Excerpt, excerptOf, type Room } from "../../../session/search/excerpt.ts";
import type { Said } from "../../../session/search/said.ts";
import type { SearchStep } from "../../../store/search/search.ts";
import { isolated } from "../../isolated.ts";
import { jsonText } from "../../json-text.ts";
import { printableLine } from "../../printable.ts";
import { elided } from "../list/table.ts";
import { borderAfter } from "../shorten.ts";

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
/** Columns of an excerpt for which what stands before it is shortened. */
const LEAST_WIDTH = 24;
/** Columns of an id that is shortened. */
const SHORT_ID = 9;
const GAP = "  ";
const ELLIPSIS = "…";

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
export function hitText(hit: Hit, { mark, width }: SnippetStyle): string {
  const isTerminal = width !== undefined;
  const head = headOf(hit, width);
  const { text } = hit.said;
  const { before, match, after } = isTerminal
    ? filling(hit, Math.max(1, width - Bun.stringWidth(head.join(""))))
    : onOneLine(excerptOf(text, hit.match, ROOM, columnsOf));
  const [begin, end] = mark;
  const excerpt = `${printableLine(before)}${begin}${printableLine(match)}${end}${printableLine(after)}`;
  const parts = head.map((part) => {
    // The gap stays outside, or it would change sides.
    const shown = part.trimEnd();
    return isolated(shown, isTerminal) + part.slice(shown.length);
  });
  return `${parts.join("")}${isolated(excerpt, isTerminal)}\n`;
}

/** Where a hit is, part by part, in so few columns that something of the text has room behind it. */
function headOf({ sessionId, said }: Hit, width: number | undefined): readonly string[] {
  const id = printableLine(sessionId);
  const seq = `seq ${said.seq}`;
  const speaker = speakerText(said);
  const short = elided(id, SHORT_ID);
  const heads = [
    [id, seq, `turn ${said.turn}`, speaker],
    [id, seq, speaker],
    [short, seq, speaker],
    [short, seq, said.who],
  ].map((parts) => parts.map((part) => part + GAP));
  const [whole = []] = heads;
  if (width === undefined) return whole;
  const most = width - LEAST_WIDTH;
  const fits = heads.find((head) => Bun.stringWidth(head.join("")) <= most);
  // No more than half of a very narrow terminal.
  return fits ?? [elided(heads.at(-1)?.join("") ?? "", Math.max(1, most, Math.floor(width / 2)))];
}

/** The excerpt that fills so many columns. Where the text is short on one side of the match, the other one has the rest. */
function filling({ said: { text }, match: { at, length } }: Hit, columns: number): Excerpt {
  // More than that has no room, unless nearly all of it is spaces.
  const units = 8 * columns + 256;
  const from = borderAfter(text, Math.max(0, at - units));
  const to = Math.min(text.length, at + length + units);
  const near = onOneLine({
    before: (from > 0 ? ELLIPSIS : "") + text.slice(from, at),
    match: text.slice(at, Math.min(at + length, at + units)),
    after: text.slice(at + length, to) + (to < text.length ? ELLIPSIS : ""),
  });
  const whole = {
    before: columnsIn(near.before),
    match: columnsIn(near.match),
    after: columnsIn(near.after),
  };
  if (whole.before + whole.match + whole.after <= columns) return near;
  const match = Math.min(whole.match, Math.max(Math.ceil(columns / 2), columns - whole.before - whole.after));
  const rest = columns - match;
  const before = Math.min(whole.before, Math.max(Math.floor(rest / 3), rest - whole.after));
  const room = { before, match, after: rest - before };
  // Where something is left out, an ellipsis takes a column.
  const own = (part: keyof Room) => Math.max(0, whole[part] > room[part] ? room[part] - 1 : room[part]);
  const place = { at: near.before.length, length: near.match.length };
  const line = near.before + near.match + near.after;
  return excerptOf(
    line,
    place,
    { before: own("before"), match: own("match"), after: own("after") },
    columnsOf,
  );
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

function columnsOf(character: string): number {
  if (character.length === 1 && character >= " " && character <= "~") return 1;
  return Math.max(1, Bun.stringWidth(printableLine(character)));
}

/** As an excerpt is measured: what has no width of its own counts as well, or it would be left out for an ellipsis that has. */
function columnsIn(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/** Each run of spaces and line ends as one space. */
function onOneLine({ before, match, after }: Excerpt): Excerpt {
  const line = (text: string) => text.replace(/\s+/g, " ");
  return { before: line(before).trimStart(), match: line(match), after: line(after).trimEnd() };
}
