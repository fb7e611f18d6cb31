import type { DecodedRecord } from "../../session/records.ts";
import { skimRecord } from "../../session/search/skim.ts";
import type { StoredSummary } from "../backend.ts";
import { breathe, STRETCH } from "../breathe.ts";
import { decodeOwnHeader } from "../cold-read.ts";
import { errorCode, NotFoundError } from "../errors.ts";
import { newestFirst } from "../search/newest-first.ts";
import type { SearchedSession, SearchedStore, Stretch } from "../search/searched-store.ts";
import { findLog } from "./directory.ts";
import { readHead } from "./head.ts";
import { listLogs } from "./listing.ts";
import { LogFile, toLogError } from "./log-file.ts";
import { usedRoot } from "./root.ts";
import { scanLog } from "./scan.ts";

const PAGE = 2_500;
const MOST_TRIES = 3;

/** A root of session logs, of which all is read. */
export class JsonlSearch implements SearchedStore {
  readonly #root: string;

  /** @throws StoreNotFoundError, StorageFailedError */
  constructor(root: string) {
    this.#root = usedRoot(root);
  }

  sessions(): SearchedSession[] {
    return newestFirst(this.#pages());
  }

  async *stretches(id: string): AsyncGenerator<Stretch> {
    using file = openLog(this.#root, id);
    const { headerText, bodyOffset } = readHead(file);
    decodeOwnHeader(id, headerText);
    yield { from: 0, pages: pagesOf(file, id, bodyOffset) };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  *#pages(): Generator<readonly StoredSummary[]> {
    let cursor: string | undefined;
    do {
      const request = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
      const page = listLogs(this.#root, request, () => false);
      yield page.items;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}

function openLog(root: string, sessionId: string): LogFile {
  for (let tries = 1; ; tries += 1) {
    const entry = findLog(root, sessionId);
    if (entry === undefined) throw new NotFoundError(sessionId);
    try {
      return new LogFile(entry);
    } catch (error) {
      // It may have got another name meanwhile.
      if (errorCode(error) === "ENOENT" && tries < MOST_TRIES) continue;
      throw toLogError(error, "The log could not be opened", entry.path, sessionId);
    }
  }
}

/** The records of a log, a unit at a time; of deltas only where they are. */
async function* pagesOf(
  file: LogFile,
  id: string,
  bodyOffset: number,
): AsyncGenerator<readonly DecodedRecord[]> {
  let breather = bodyOffset + STRETCH;
  for (const step of scanLog(file, id, { offset: bodyOffset, next: 0, frame: 2, decode: skimRecord })) {
    if (step.kind !== "pause") yield step.records;
    const isDue = step.kind === "pause" || (step.kind === "records" && step.end >= breather);
    if (!isDue) continue;
    if (step.kind === "records") breather = step.end + STRETCH;
    await breathe();
  }
}
