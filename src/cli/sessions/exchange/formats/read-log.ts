import { examineLogFile } from "../../../../store/jsonl/examine-file.ts";
import { beginningOf } from "./beginning.ts";
import type { ImportFile, ImportReader } from "./reader.ts";

/** So much of a line tells what it is, in bytes. */
const LOOKED_AT = 64 * 1024;
const BRACE = "{".charCodeAt(0);
const FRAME_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** One session log, wherever it lies: Zstandard frames or lines. What is wrong with it is found when it is read. */
export const logReader: ImportReader = {
  name: "a session log",
  knows: ({ path, beginning }) =>
    FRAME_MAGIC.every((byte, k) => beginning[k] === byte) ||
    beginning[0] === BRACE ||
    /\.jsonl(?:\.zstd)?$/.test(path),
  async *sessions(path) {
    yield examineLogFile(path);
  },
};

/**
 * Whether a file is JSON, and yet its first line is neither the header of a session nor an event, damaged or not. One that
 * begins in another way may be a log of which the beginning is lost.
 */
export async function isOtherJson({ path, kind, beginning }: ImportFile): Promise<boolean> {
  if (kind !== "file" || beginning[0] !== BRACE) return false;
  const text = new TextDecoder().decode(await beginningOf(path, LOOKED_AT));
  const [line = ""] = text.split("\n", 1);
  const value = parsed(line);
  // Cut short, here or on the disk.
  if (value === undefined) return !/^\{"(?:type|version)":|"(?:createdAt|delegationDepth|seq)":/.test(line);
  const { type, version, id, createdAt, seq } = value;
  const isHeader = type === "session" || (id !== undefined && (version ?? createdAt) !== undefined);
  return !isHeader && !(typeof type === "string" && seq !== undefined);
}

/** The members of a JSON object; nothing where a text is none. */
function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
