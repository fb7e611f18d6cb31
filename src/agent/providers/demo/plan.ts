import { clip } from "../../../session/text.ts";
import type { ModelRequest } from "../../provider.ts";
import { type CallWithResult, readHistory } from "./history.ts";

export interface PlannedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What the demo model says in one Step. Empty text means none. */
export interface Plan {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly PlannedCall[];
}

/** Decides on the next Step, from nothing but the request: the last input and what followed it. */
export function planStep(request: ModelRequest): Plan {
  const history = readHistory(request.messages);
  const offered = new Set(request.tools.map((tool) => tool.name));
  const place = `This is message ${history.inputs} of our conversation.`;
  const spoken = /^say\s+(.+)/is.exec(history.input.trim())?.[1];
  if (spoken !== undefined) return { reasoning: "", text: spoken, calls: [] };
  if (!offered.has("list_files")) {
    const quoted = history.input.trim() === "" ? "nothing" : `“${clip(history.input.trim(), 200)}”`;
    const text = `You said ${quoted}. I am the demo model and have no tools here. ${place}`;
    return { reasoning: "There are no tools, so I answer at once.", text, calls: [] };
  }
  const listing = history.calls.find((call) => call.name === "list_files");
  if (listing === undefined) return look(history.input, offered, history.usedIds);
  const file = listing.isError ? undefined : pickFile(listing.text);
  const reading = history.calls.find((call) => call.name === "read_file");
  if (reading === undefined && file !== undefined && offered.has("read_file")) {
    return {
      reasoning: `The listing names ${file}, which should say what this is about.`,
      text: `I read ${file} next.`,
      calls: number(
        [{ name: "read_file", arguments: JSON.stringify({ path: file, limit: 40 }) }],
        history.usedIds,
      ),
    };
  }
  return {
    reasoning: "I have seen enough to answer.",
    text: `${report(history.calls, listing, reading, file)}\n\n${place}`,
    calls: [],
  };
}

/** Characters of all that the model is sent, to count tokens by. */
export function countCharacters(request: ModelRequest): number {
  let count = (request.system ?? "").length + JSON.stringify(request.tools).length;
  for (const message of request.messages) {
    for (const block of message.content) {
      if (block.type === "text" || block.type === "reasoning") count += block.text.length;
      else if (block.type === "tool-call") count += block.name.length + block.arguments.length;
      else if (block.type === "tool-result") {
        for (const part of block.content) count += part.type === "text" ? part.text.length : 0;
      }
    }
  }
  return count;
}

function look(input: string, offered: ReadonlySet<string>, usedIds: ReadonlySet<string>): Plan {
  const word = significantWord(input);
  const calls = [{ name: "list_files", arguments: JSON.stringify({ path: ".", depth: 2 }) }];
  const withSearch = word !== undefined && offered.has("search_text");
  if (withSearch) calls.push({ name: "search_text", arguments: JSON.stringify({ text: word }) });
  return {
    reasoning: "I do not know this workspace yet. I look at its files before I say anything about them.",
    text: withSearch ? `I look around and search for “${word}”.` : "I look around in the workspace.",
    calls: number(calls, usedIds),
  };
}

function report(
  calls: readonly CallWithResult[],
  listing: CallWithResult,
  reading: CallWithResult | undefined,
  file: string | undefined,
): string {
  const listed = firstLine(listing.text);
  const lines = [listing.isError ? `No listing: ${listed}` : listed.replace(/^\.: /, "")];
  if (reading !== undefined && file !== undefined) {
    const read = firstLine(reading.text);
    lines.push(reading.isError ? `${file} could not be read: ${read}` : `${file} begins with “${read}”`);
  }
  const search = calls.find((call) => call.name === "search_text");
  if (search !== undefined) {
    lines.push(`Search: ${firstLine(search.text)}`);
    const hit = search.text.split("\n")[1] ?? "";
    if (!search.isError && hit !== "") lines.push(`First hit: ${clip(hit, 160)}`);
  }
  return `Here is what I found in the workspace:\n\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** A README at the top, or else the first file that is not hidden, or else the first file of a `list_files` result; undefined without any. */
function pickFile(listing: string): string | undefined {
  const lines = listing.split("\n");
  const end = lines.indexOf("");
  // The first line counts, the notes stand below a blank line, and odd names are quoted: none of them is a path.
  const files = lines
    .slice(1, end < 0 ? undefined : end)
    .filter((line) => !line.endsWith("/") && !line.startsWith('"'));
  const readme = files.find((path) => /^readme(\.\w+)?$/i.test(path));
  return readme ?? files.find((path) => !path.startsWith(".")) ?? files[0];
}

/** The longest word of at least four letters, the first of several. */
function significantWord(input: string): string | undefined {
  let best: string | undefined;
  for (const word of input.match(/[\p{L}\p{N}_]{4,60}/gu) ?? []) {
    if (best === undefined || word.length > best.length) best = word;
  }
  return best;
}

function firstLine(text: string): string {
  const line = text.split("\n").find((candidate) => candidate.trim() !== "") ?? "";
  return clip(line.trim(), 120);
}

/** Ids that the history does not hold yet, counted on. */
function number(calls: ReadonlyArray<Omit<PlannedCall, "id">>, usedIds: ReadonlySet<string>): PlannedCall[] {
  let next = usedIds.size;
  return calls.map((call) => {
    do next += 1;
    while (usedIds.has(`demo-call-${next}`));
    return { id: `demo-call-${next}`, ...call };
  });
}
