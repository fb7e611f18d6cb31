import type { Random } from "../../bench/random.ts";

/** A call that the model makes. */
export interface ToolCallPlan {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model writes them; not always sound. */
  readonly args: string;
}

/** Takes some time: it looks through all files of the workspace. */
const LONG_SEARCH = { name: "search_text", args: '{"text":"nowhere to be found"}' } as const;

/** Every call that a model may make. */
export const CALLS: ReadonlyArray<Omit<ToolCallPlan, "id">> = [
  { name: "list_files", args: "{}" },
  { name: "list_files", args: '{"path":"notes","depth":2}' },
  { name: "list_files", args: '{ "path" : "no such folder" }' },
  { name: "read_file", args: '{"path":"notes/odd.txt"}' },
  { name: "read_file", args: '{"path":"notes/lines.txt","offset":3,"limit":2}' },
  { name: "read_file", args: '{"path":"../secret"}' },
  { name: "read_file", args: '{"path":"notes/binary.bin"}' },
  { name: "search_text", args: '{"text":"milk","path":"notes"}' },
  { name: "search_text", args: '{"text":"\\ud83d","path":"notes"}' },
  { name: "search_text", args: '{"text":1}' },
  { name: "read_file", args: '{"path":"notes/li' },
  LONG_SEARCH,
  { name: "no_such_tool", args: '{"x":[1,2,{"y":null}]}' },
  // Long enough for a SQLite store to quote it.
  { name: "no_such_tool", args: JSON.stringify({ x: "milk, \u{1F600} ".repeat(1_000) }) },
];

const SHORT = CALLS.filter((call) => call !== LONG_SEARCH);

/** One to four calls with ids of their own; the first one takes long where that is asked for. */
export function planCalls(random: Random, prefix: string, long: boolean): ToolCallPlan[] {
  return Array.from({ length: random.pick([1, 1, 2, 3, 4]) }, (_, k) => ({
    id: `${prefix}-${k + 1}`,
    ...(long && k === 0 ? LONG_SEARCH : random.pick(SHORT)),
  }));
}
