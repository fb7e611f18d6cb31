import { StorageFailedError, StoreNotFoundError, UnsupportedFormatError } from "../../../../store/errors.ts";
import type { ExaminedSession } from "../../../../store/examiner.ts";
import { lookAt, type PathKind } from "../../../../store/look-at.ts";
import { shellWord } from "../../next-step.ts";
import { beginningOf } from "./beginning.ts";
import { exportReader } from "./read-export.ts";
import { isOtherJson, logReader } from "./read-log.ts";
import { rootReader } from "./read-root.ts";

/** What lies at a path, as far as a reader needs it to know its own format. */
export interface ImportFile {
  readonly path: string;
  readonly kind: PathKind;
  /** The first bytes of a file, a few dozen; none of a folder. */
  readonly beginning: Uint8Array;
}

/** A format that sessions are read from. A log of another tool is one more of these. */
export interface ImportReader {
  /** As messages name it. */
  readonly name: string;
  /** Whether this is the format of the file or folder; the first reader that says so reads it. */
  knows(file: ImportFile): boolean;
  /** The sessions in it, each read when its items are asked for, in bounded memory and as often as they are asked for. */
  sessions(path: string): AsyncIterable<ExaminedSession>;
}

/** In the order in which they are asked. */
const READERS: readonly ImportReader[] = [rootReader, exportReader, logReader];

/**
 * The sessions at a path, in whatever format it has.
 * @param to store that they are for, as hints name it
 * @throws StoreNotFoundError, UnsupportedFormatError, StorageFailedError
 */
export async function* readSessions(path: string, to = "STORE"): AsyncGenerator<ExaminedSession> {
  const kind = lookAt(path);
  if (kind === undefined)
    throw new StoreNotFoundError(path, "There is no such file or folder", "Check the path.");
  if (kind === "other") {
    throw new StorageFailedError("It is neither a file nor a folder", {
      place: { path },
      hint: "Name a file that was exported, a session log, or a root of session logs.",
    });
  }
  const file = { path, kind, beginning: kind === "file" ? await beginningOf(path) : new Uint8Array() };
  const isOther = isOtherExport(file) || (await isOtherJson(file));
  const reader = isOther ? undefined : READERS.find((candidate) => candidate.knows(file));
  if (reader === undefined) throw unknownFormat(file, to);
  yield* reader.sessions(path);
}

/** How the other formats of `sessions export` begin; those of several sessions, too. */
const OTHER_EXPORTS = /^(?:\{"sessions":\[|<!doctype html>\n|# (?:Session `|\d+ sessions\n))/;

function isOtherExport({ beginning }: ImportFile): boolean {
  return OTHER_EXPORTS.test(textOf(beginning));
}

function textOf(beginning: Uint8Array): string {
  return Buffer.from(beginning).toString("latin1");
}

function unknownFormat(file: ImportFile, to: string): UnsupportedFormatError {
  const [message, hint] = reasonOf(file, to);
  return new UnsupportedFormatError(message, { place: { path: file.path }, hint });
}

/** What is wrong, and what to do about it. */
function reasonOf(file: ImportFile, to: string): readonly [string, string] {
  if (textOf(file.beginning).startsWith("SQLite format 3")) {
    const names = `--from ${shellWord(file.path)} --to ${shellWord(to)}`;
    return ["It is a SQLite database", `Copy its sessions: \`holdfast sessions copy --all ${names}\`.`];
  }
  if (isOtherExport(file)) {
    return [
      "It is not the format of an export that can be read back",
      "Export the sessions with --format jsonl, and import that.",
    ];
  }
  return [
    "The file is no session log, nor an export of sessions",
    `It can be ${READERS.map(({ name }) => name).join(", or ")}.`,
  ];
}
