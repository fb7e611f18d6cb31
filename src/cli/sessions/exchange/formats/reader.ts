import { StorageFailedError, StoreNotFoundError, UnsupportedFormatError } from "../../../../store/errors.ts";
import type { ExaminedSession } from "../../../../store/examiner.ts";
import { lookAt, type PathKind } from "../../../../store/look-at.ts";
import { beginningOf } from "./beginning.ts";
import { exportReader } from "./read-export.ts";
import { logReader } from "./read-log.ts";
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
 * @throws StoreNotFoundError, UnsupportedFormatError, StorageFailedError
 */
export async function* readSessions(path: string): AsyncGenerator<ExaminedSession> {
  const kind = lookAt(path);
  if (kind === undefined) throw new StoreNotFoundError(path, "There is nothing to import", "Check the path.");
  if (kind === "other") {
    throw new StorageFailedError("It is neither a file nor a folder", {
      place: { path },
      hint: "Name a file that was exported, a session log, or a root of session logs.",
    });
  }
  const file = { path, kind, beginning: kind === "file" ? await beginningOf(path) : new Uint8Array() };
  const reader = READERS.find((candidate) => candidate.knows(file));
  if (reader === undefined) throw unknownFormat(file);
  yield* reader.sessions(path);
}

function unknownFormat({ path, beginning }: ImportFile): UnsupportedFormatError {
  const isDatabase = Buffer.from(beginning).toString("latin1").startsWith("SQLite format 3");
  return new UnsupportedFormatError(
    isDatabase ? "It is a SQLite database" : "The format of the file is unknown",
    {
      place: { path },
      hint: isDatabase
        ? "Copy its sessions with `holdfast sessions copy --all --from FILE --to STORE`."
        : `Name one of these: ${READERS.map(({ name }) => name).join(", ")}.`,
    },
  );
}
