import { statSync } from "node:fs";
import { looksLikeDatabase } from "./database-file.ts";
import { HoldfastError, StorageFailedError, toStorageError } from "./errors.ts";
import { assertNoLog, homeOrRoot } from "./jsonl/root.ts";
import { resolveStorePath } from "./paths.ts";

/** A store as a person names it: which backend keeps it, and where it lies. */
export interface StoreName {
  readonly kind: "sqlite" | "jsonl";
  /** Database file, or root folder of the session logs; as it was given, but for a home of dsh, where it is the root in it. */
  readonly path: string;
}

/** A name that names no store. Nothing was looked at or made. */
export class StoreNameError extends HoldfastError {
  readonly code = "usage";

  constructor(message: string) {
    super(message, {
      hint: "Name a store as sqlite:PATH, as jsonl:ROOT, or by a path alone: a file is SQLite, a folder JSONL.",
    });
  }
}

const PREFIXED = /^(sqlite|jsonl):(.*)$/s;
/** What looks like the name of another kind of store, or like a URL. One letter is a drive of Windows. */
const OTHER_SCHEME = /^([a-z][a-z0-9+.-]+):/i;

/**
 * Reads a store's name: `sqlite:PATH`, `jsonl:ROOT`, or a bare path. Of a bare path that exists, a file is SQLite and a
 * folder JSONL; a new one is SQLite when it ends in `.db` or `.sqlite`, else JSONL. A home of dsh means the logs in it.
 * @throws StoreNameError; StorageFailedError when the path exists and cannot be looked at
 */
export function parseStoreName(name: string): StoreName {
  const [, kind, path = name] = PREFIXED.exec(name) ?? [];
  if (path === "") throw new StoreNameError(`${JSON.stringify(name)} names no store: there is no path in it`);
  if (path.includes("\0")) throw new StoreNameError("The name of a store cannot hold a NUL character");
  if (kind === "sqlite" || kind === "jsonl") return storeOfKind(kind, path);
  const found = look(path);
  if (found !== undefined) return storeOfKind(found, path);
  const [, scheme] = OTHER_SCHEME.exec(path) ?? [];
  if (scheme !== undefined) {
    throw new StoreNameError(
      `There is no kind of store ${JSON.stringify(scheme)}, in ${JSON.stringify(name)}`,
    );
  }
  return { kind: looksLikeDatabase(path) ? "sqlite" : "jsonl", path };
}

/** As {@link parseStoreName}, of a store that is meant as a whole. @throws StoreNotFoundError, too, for a path of a session log */
export function parseWholeStoreName(name: string): StoreName {
  const store = parseStoreName(name);
  if (store.kind === "sqlite" && store.path === name) assertNoLog(name);
  return store;
}

/** The store of a kind that is known, as a prefix or a flag says it. A home of dsh means the logs in it. */
export function storeOfKind(kind: StoreName["kind"], path: string): StoreName {
  return { kind, path: kind === "jsonl" ? homeOrRoot(path) : path };
}

/** The name with its kind, so that it means the same wherever it is read and whatever lies at the path. */
export function formatStoreName({ kind, path }: StoreName): string {
  return `${kind}:${path}`;
}

/** Whether two names mean the same store, also by a link or under a second name of its file. */
export function isSameStore(a: StoreName, b: StoreName): boolean {
  const [first, second] = [a, b].map(({ path }) => resolveStorePath(path));
  if (first === second) return true;
  const [one, other] = [a, b].map(({ path }) => statSync(path, { throwIfNoEntry: false, bigint: true }));
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

function look(path: string): StoreName["kind"] | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    if (stat.isFile()) return "sqlite";
    if (stat.isDirectory()) return "jsonl";
  } catch (error) {
    throw toStorageError(error, "The path of the store cannot be used", { path });
  }
  throw new StorageFailedError("The path of the store is neither a file nor a folder", {
    place: { path },
    hint: "Name a database file, or the root folder of session logs.",
  });
}
