import { join } from "node:path";
import { examineLogFile } from "../../../store/jsonl/examine-file.ts";
import { lookAt } from "../../../store/look-at.ts";
import { openExaminer } from "../../../store/open-examiner.ts";
import type { ImportReader } from "./reader.ts";

/** Names of a log in a folder of its own. */
const LOGS = ["session.jsonl.zstd", "session.jsonl"];
/** Where dsh keeps its sessions in its home. */
const HOME_ROOT = "sessions";

/** A root of session logs, as dsh and Holdfast keep them; also the folder of one session, and the home of dsh. */
export const rootReader: ImportReader = {
  name: "a root of session logs",
  knows: ({ kind }) => kind === "folder",
  async *sessions(path) {
    const logs = LOGS.map((name) => join(path, name)).filter((log) => lookAt(log) === "file");
    if (logs.length > 0) {
      for (const log of logs) yield examineLogFile(log);
      return;
    }
    const below = join(path, HOME_ROOT);
    await using examiner = await openExaminer({
      kind: "jsonl",
      path: lookAt(below) === "folder" ? below : path,
    });
    yield* examiner.sessions();
  },
};
