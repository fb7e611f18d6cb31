import { StoreNotFoundError, toStorageError } from "../../../../store/errors.ts";
import { examineLogFile } from "../../../../store/jsonl/examine-file.ts";
import { homeOrRoot } from "../../../../store/jsonl/root.ts";
import { openExaminer } from "../../../../store/open-examiner.ts";
import { beginningOf } from "./beginning.ts";
import { exportReader } from "./read-export.ts";
import type { ImportReader } from "./reader.ts";

/** A log in a folder of its own. */
const OWN_LOGS = new Bun.Glob("session.jsonl{,.zstd}");
/** Those of the sessions of one project. */
const PROJECT_LOGS = new Bun.Glob("*/session.jsonl{,.zstd}");
const EXPORTED = new Bun.Glob("*.jsonl");

/**
 * A root of session logs, as dsh and Holdfast keep them; also the folder of one project or one session, the home of dsh,
 * and a folder of exported files.
 */
export const rootReader: ImportReader = {
  name: "a root of session logs",
  knows: ({ kind }) => kind === "folder",
  async *sessions(path) {
    const root = homeOrRoot(path);
    const isHome = root !== path;
    // One that strayed into a root hides none of the root's own.
    const own = await filesIn(path, OWN_LOGS);
    for (const log of own) yield examineLogFile(log);
    const files = isHome ? [] : await exportedFiles(path, own);
    for (const file of files) yield* exportReader.sessions(file);
    try {
      await using examiner = await openExaminer({ kind: "jsonl", path: root });
      yield* examiner.sessions();
    } catch (error) {
      if (isHome || !(error instanceof StoreNotFoundError)) throw error;
      const logs = await filesIn(path, PROJECT_LOGS);
      if (own.length + files.length + logs.length === 0) throw error;
      for (const log of logs) yield examineLogFile(log);
    }
  },
};

/** Those that lie in the folder itself, but for its `logs`; other lines than those of sessions are none of ours. */
async function exportedFiles(folder: string, logs: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of await filesIn(folder, EXPORTED)) {
    if (logs.includes(path)) continue;
    if (exportReader.knows({ path, kind: "file", beginning: await beginningOf(path) })) found.push(path);
  }
  return found;
}

async function filesIn(folder: string, names: Bun.Glob): Promise<string[]> {
  try {
    const found = await Array.fromAsync(names.scan({ cwd: folder, absolute: true, dot: true }));
    return found.sort();
  } catch (error) {
    throw toStorageError(error, "The folder could not be read", { path: folder });
  }
}
