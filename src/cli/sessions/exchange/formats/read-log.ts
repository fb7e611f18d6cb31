import { examineLogFile } from "../../../../store/jsonl/examine-file.ts";
import type { ImportReader } from "./reader.ts";

const FRAME_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** One session log, wherever it lies: Zstandard frames or lines. What is wrong with it is found when it is read. */
export const logReader: ImportReader = {
  name: "a session log",
  knows: ({ path, beginning }) =>
    FRAME_MAGIC.every((byte, k) => beginning[k] === byte) ||
    beginning[0] === "{".charCodeAt(0) ||
    /\.jsonl(?:\.zstd)?$/.test(path),
  async *sessions(path) {
    yield examineLogFile(path);
  },
};
