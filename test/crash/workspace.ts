import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolOutcome } from "../../src/agent/tool.ts";
import { workspaceTools } from "../../src/agent/tools/index.ts";
import { ToolRegistry } from "../../src/agent/tools/registry.ts";
import { CALLS } from "./tool-calls.ts";

/** Files that make one of the calls take long. */
const MANY_FILES = 240;

/** A folder that never changes, so that a tool gives the same whenever it runs. */
export class Workspace {
  readonly path: string;
  readonly #outcomes: ReadonlyMap<string, ToolOutcome>;

  private constructor(path: string, outcomes: ReadonlyMap<string, ToolOutcome>) {
    this.path = path;
    this.#outcomes = outcomes;
  }

  static async create(path: string): Promise<Workspace> {
    await mkdir(join(path, "notes"), { recursive: true });
    await mkdir(join(path, "archive"));
    const files: Array<readonly [string, string]> = [
      ["notes/odd.txt", "caf\u00e9 \u{1F600}\u2028one line\r\n\u0085\ttab\n"],
      ["notes/lines.txt", Array.from({ length: 9 }, (_, k) => `line ${k + 1}, buy milk\n`).join("")],
      ["notes/binary.bin", "\0\0\0"],
    ];
    for (let k = 0; k < MANY_FILES; k += 1) files.push([`archive/${k}.txt`, `page ${k}\n`.repeat(400)]);
    await Promise.all(files.map(([name, text]) => writeFile(join(path, name), text)));
    const tools = new ToolRegistry(workspaceTools(path));
    const outcomes = new Map<string, ToolOutcome>();
    for (const { name, args } of CALLS) {
      outcomes.set(keyOf(name, args), await tools.call(name, args, new AbortController().signal));
    }
    return new Workspace(path, outcomes);
  }

  /** What a call gives. @throws RangeError for one that no model makes */
  outcome(name: string, args: string): ToolOutcome {
    const outcome = this.#outcomes.get(keyOf(name, args));
    if (outcome === undefined) throw new RangeError(`nobody calls ${name} with ${args}`);
    return outcome;
  }
}

function keyOf(name: string, args: string): string {
  return `${name} ${args}`;
}
