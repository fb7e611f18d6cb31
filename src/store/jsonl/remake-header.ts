import { HEADER_MEMBERS, parseHeader, type SessionHeader, serialiseHeader } from "../../session/header.ts";
import { CorruptError } from "../errors.ts";
import type { Beginning } from "./beginning.ts";
import { logsOf } from "./directory.ts";
import { glanceAt } from "./glance.ts";
import { projectFolder } from "./layout.ts";
import type { LogFile } from "./log-file.ts";

/* A header in place of one that is damaged. Source: docs/format.md, "A log that was repaired". */

/** Bytes in which a damaged header is looked for. */
const MOST = 64 * 1024;
/** Other logs of the project that are asked for their folder. */
const NEIGHBOURS = 50;
/** What is taken over as far as it is sound; the rest is known. */
const MEMBERS = HEADER_MEMBERS.filter((key) => key !== "version" && key !== "id");

export interface HeaderSource {
  readonly root: string;
  /** From the name of the folder or file. */
  readonly id: string;
  /** Folder of the project that the log lies in. */
  readonly project: string;
  /** Of the first event that is kept, in epoch milliseconds. */
  readonly firstTime?: number;
}

/** The header line of a log whose own one is damaged. */
export function remakeHeader(file: LogFile, { headerText, body }: Beginning, source: HeaderSource): string {
  const { root, id, project, firstTime } = source;
  const read = tryObject(headerText) ?? fragments(file.read(0, Math.min(body?.offset ?? MOST, MOST)));
  const createdAt = firstTime ?? Math.max(0, Math.floor(file.modifiedAt));
  let header = parseHeader({ version: 0, id, createdAt });
  for (const key of MEMBERS) {
    if (key in read) header = withMember(header, key, read[key]);
  }
  const { cwd: found, ...rest } = header;
  // A path with one wrong letter would be another folder: the project's name must confirm it.
  const cwd = [found, neighbourFolder(root, project), unfolded(project)].find(
    (path) => path !== undefined && projectFolder(path) === project,
  );
  const made = { ...rest, ...(cwd === undefined ? {} : { cwd }), delegationDepth: rest.delegationDepth ?? 0 };
  return `{"type":"session",${serialiseHeader(made).slice(1)}`;
}

function withMember(header: SessionHeader, key: string, value: unknown): SessionHeader {
  try {
    return parseHeader({ ...header, [key]: value });
  } catch (error) {
    if (error instanceof CorruptError) return header;
    throw error;
  }
}

/** Of the members that still stand in damaged bytes, the one that can be confirmed. */
function fragments(bytes: Buffer): Readonly<Record<string, unknown>> {
  const cwd = /"cwd":("(?:[^"\\]|\\.)*")/.exec(bytes.toString())?.[1];
  return tryObject(`{"cwd":${cwd ?? "null"}}`) ?? {};
}

/** The folder that most other logs of the project name. */
function neighbourFolder(root: string, project: string): string | undefined {
  const counts = new Map<string, number>();
  for (const entry of logsOf(root, project).take(NEIGHBOURS)) {
    if (entry.isClosed === true || entry.version !== undefined) continue;
    const cwd = glanceAt(entry).header?.cwd;
    if (cwd !== undefined && projectFolder(cwd) === project) counts.set(cwd, (counts.get(cwd) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0];
}

/** The path that a project's name stands for, where none of its folders has a `-` in its name. */
function unfolded(project: string): string {
  const name = project.replace(/^--|--$/g, "").replaceAll("-", "/");
  return `/${name.replace(/~([0-9A-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))}`;
}

function tryObject(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined; // not JSON
  }
}
