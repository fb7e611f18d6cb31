import type { ListRequest, Page, SessionProblem, StoredSummary } from "../backend.ts";
import {
  describeDuplicate,
  findLogs,
  idsInSeveralPlaces,
  type LogEntry,
  type LogKey,
  logsOf,
  newerGeneration,
  projectsOf,
} from "./directory.ts";
import { glanceAt } from "./glance.ts";
import { decodeId } from "./layout.ts";

const DEFAULT_LIMIT = 100;
const SEPARATOR = "/";
const CLOSED: SessionProblem = {
  state: "unreadable",
  reason: "This user may not look into the folder",
};
const MISNAMED: SessionProblem = {
  state: "corrupt",
  reason:
    "No session id is encoded like the name of this folder or file, so that it cannot be read by its id",
};

/**
 * One page of the logs below a root, by project and name. Reads the first bytes of each, and changes nothing.
 * @param isHeld whether not all of a session's file counts, so that its revision is not that of the file
 */
export function listLogs(
  root: string,
  { limit = DEFAULT_LIMIT, cursor, revisions }: ListRequest,
  isHeld: (id: string) => boolean,
): Page<StoredSummary> {
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const projects = projectsOf(root);
  const suspects = idsInSeveralPlaces(root, projects);
  const items: StoredSummary[] = [];
  let last: LogKey | undefined;
  for (const project of projects) {
    if (after !== undefined && project < after[0]) continue;
    for (const entry of logsOf(root, project, after)) {
      if (items.length >= limit) {
        return { items, ...(last === undefined ? {} : { nextCursor: last.join(SEPARATOR) }) };
      }
      const isSuspect = entry.hasSibling || suspects.has(entry.encodedId);
      const { revision, ...item } = summary(root, entry, isSuspect);
      const isKnown = revisions === true && revision !== undefined && !isHeld(item.id);
      items.push(isKnown ? { ...item, revision } : item);
      last = entry.key;
    }
  }
  return { items };
}

function parseCursor(cursor: string): LogKey {
  const [project = "", name = "", file = ""] = cursor.split(SEPARATOR);
  return [project, name, file];
}

function summary(root: string, entry: LogEntry, isSuspect: boolean): StoredSummary {
  const id = decodeId(entry.encodedId) ?? entry.encodedId;
  const known = { id, location: entry.path };
  if (entry.isClosed === true) return { ...known, headerText: "", problem: CLOSED };
  if (entry.version !== undefined) {
    const { message } = newerGeneration(id, entry.path, entry.version);
    return { ...known, headerText: "", problem: { state: "unsupported", reason: message } };
  }
  const { headerText, problem, revision } = glanceAt(entry);
  const misnamed = decodeId(entry.encodedId) === undefined ? MISNAMED : undefined;
  const found = problem ?? misnamed ?? (isSuspect ? duplicateOf(root, id) : undefined);
  return {
    ...known,
    headerText,
    ...(found === undefined ? {} : { problem: found }),
    ...(revision === undefined ? {} : { revision }),
  };
}

function duplicateOf(root: string, id: string): SessionProblem | undefined {
  const logs = findLogs(root, id).filter(({ version }) => version === undefined);
  if (logs.length <= 1) return undefined;
  return { state: "duplicate", reason: describeDuplicate(logs.map(({ path }) => path)) };
}
