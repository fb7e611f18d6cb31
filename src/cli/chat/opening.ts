import type { RuntimeConfig } from "../../host/config.ts";
import type { Runtime } from "../../host/runtime.ts";
import type { TranscriptEntry } from "../../session/projections/index.ts";
import { clip } from "../../session/text.ts";
import { formatStoreName, type StoreName } from "../../store/store-name.ts";
import { printableLine } from "../printable.ts";
import { shellWord } from "../sessions/next-step.ts";
import { entryText } from "../sessions/transcript-text.ts";

/** Entries of the conversation so far that are shown. */
const MOST_ENTRIES = 20;
/** How much is shown of one text: a person's and a model's, and a tool's. */
const SAID = { lines: 40, length: 4_000 };
const OUTPUT = { lines: 6, length: 600 };

/** What a conversation begins with on a terminal: which session it is, and what was said last. */
export function openingText({ agent }: Runtime, config: RuntimeConfig): string {
  const { session } = agent;
  const id = printableLine(session.id);
  const store = storeOf(config);
  const entries: TranscriptEntry[] = [];
  let length = 0;
  for (const entry of session.projections.transcript(session.log)) {
    length += 1;
    entries.push(entry);
    if (entries.length > MOST_ENTRIES) entries.shift();
  }
  const head =
    store === undefined
      ? `Session ${id}, in memory only: it ends with this process. --session-db PATH keeps it.`
      : `Session ${id} in ${printableLine(formatStoreName(store))}`;
  const left = length - entries.length;
  const earlier =
    left === 0 || store === undefined
      ? ""
      : `\n(${left} earlier ${left === 1 ? "entry" : "entries"}: ${printableLine(showCommand(session.id, store))})\n`;
  const shown = entries.map((entry) => entryText(shortened(entry))).join("");
  return `${head}\n/help tells of keys and commands. Ctrl-D leaves.\n${earlier}${shown}\n`;
}

/** Inputs that can be called back at the prompt: of one line, without anything that would steer a terminal; the newest first. */
export function inputHistory({ agent: { session } }: Runtime): string[] {
  const inputs: string[] = [];
  for (const entry of session.projections.transcript(session.log)) {
    if (entry.kind === "user" && entry.text !== "" && printableLine(entry.text) === entry.text) {
      inputs.push(entry.text);
    }
  }
  return inputs.reverse();
}

function showCommand(id: string, store: StoreName): string {
  return `holdfast sessions show ${shellWord(id)} ${shellWord(formatStoreName(store))} shows all`;
}

function storeOf({ sessionDb, sessionDir }: RuntimeConfig): StoreName | undefined {
  if (sessionDb !== undefined) return { kind: "sqlite", path: sessionDb };
  return sessionDir === undefined ? undefined : { kind: "jsonl", path: sessionDir };
}

function shortened(entry: TranscriptEntry): TranscriptEntry {
  switch (entry.kind) {
    case "turn-end":
      return entry;
    case "tool":
      return { ...entry, text: shortText(entry.text, OUTPUT) };
    case "user":
      return { ...entry, text: shortText(entry.text, SAID) };
    case "assistant":
      return {
        ...entry,
        text: shortText(entry.text, SAID),
        ...(entry.reasoning === undefined ? {} : { reasoning: shortText(entry.reasoning, OUTPUT) }),
        toolCalls: entry.toolCalls.map((call) => ({
          ...call,
          arguments: clip(call.arguments, OUTPUT.length),
        })),
      };
  }
}

/** The beginning of a text, and how much is left out. */
function shortText(text: string, most: { readonly lines: number; readonly length: number }): string {
  const lines = text.trimEnd().split("\n");
  const kept = clip(lines.slice(0, most.lines).join("\n"), most.length);
  const left = lines.length - kept.split("\n").length;
  return left === 0 ? kept : `${kept}\n(${left} more ${left === 1 ? "line" : "lines"})`;
}
