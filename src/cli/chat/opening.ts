import { type RuntimeConfig, storeOf } from "../../host/config.ts";
import type { Runtime } from "../../host/runtime.ts";
import { formatStoreName } from "../../store/store-name.ts";
import { printableLine } from "../printable.ts";
import { showCommand } from "../sessions/next-step.ts";
import type { TranscriptStyle } from "../sessions/show/transcript-style.ts";
import { hanging, outputColumns } from "../wrap.ts";
import { recapOf } from "./recap.ts";

/** What a conversation begins with on a terminal: which session it is, and what was said last. */
export function openingText({ agent }: Runtime, config: RuntimeConfig, style: TranscriptStyle): string {
  const { session } = agent;
  const store = storeOf(config);
  const columns = outputColumns();
  const line = (text: string) => `${hanging(printableLine(text), columns, "  ")}\n`;
  const head =
    store === undefined
      ? `Session ${session.id}, in memory only: it ends with this process. --session-db PATH keeps it.`
      : `Session ${session.id} in ${formatStoreName(store)}`;
  const { earlier, text } = recapOf(session, style);
  const entries = earlier === 1 ? "1 earlier entry is" : `${earlier} earlier entries are`;
  // A line of its own: a command that is broken cannot be copied.
  const left =
    earlier === 0 || store === undefined
      ? ""
      : `\n${line(`(${entries} not shown. All of it is shown by:)`)}  ${printableLine(showCommand(session.id, store))}\n`;
  return `${line(head)}${line("/help tells of keys and commands. Ctrl-D leaves.")}${left}${text}\n`;
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
