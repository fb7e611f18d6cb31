import { join } from "node:path";
import type { SessionHeader } from "../../session/header.ts";
import { clip } from "../../session/text.ts";
import { IdTooLongError } from "../errors.ts";

/*
 * Names below a session root, as version 0 of the format has them (docs/format.md, "Session logs"):
 *
 *   <root>/<project>/<encoded id>/session.jsonl.zstd   Zstandard frames
 *   <root>/<project>/<encoded id>/session.jsonl        plain lines
 */

/** How the lines of a log are stored: in checksummed Zstandard frames, or as they are. */
export type Encoding = "zstd" | "none";

const FILE_NAMES: Readonly<Record<Encoding, string>> = { zstd: "session.jsonl.zstd", none: "session.jsonl" };
/** Longest name of a file or folder, in bytes. */
const MAX_FILE_NAME = 255;
/** Longest project folder before it is wrapped, so that the whole fits a file name. */
const MAX_PROJECT = 251;
const NO_PROJECT = "_no-cwd";
/** Names of what Holdfast itself puts beside a log; other programs ignore them. */
export const INDEX_SUFFIX = ".holdfast-index";
export const QUARANTINE_INFIX = ".torn-";
const DRAFT_NAME = /^\.holdfast-draft-[0-9a-f-]+$/;

/**
 * The lock of a root and its owner's name lie in it, as `.holdfast.lock` and `.holdfast.owner`: whoever gets at the same
 * folder by another path, in another container say, gets at the same lock.
 */
export function lockFiles(root: string): string {
  return join(root, ".holdfast");
}

/** One path component for a session id. Injective: what is not `[A-Za-z0-9._-]` becomes `~` and four hex digits. */
export function encodeId(id: string): string {
  if (id === ".") return "~002E";
  if (id === "..") return "~002E~002E";
  return escapeUnits(id);
}

/** The id behind a folder's name; nothing where no id is encoded like that. */
export function decodeId(name: string): string | undefined {
  const id = name.replace(/~([0-9A-F]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return id !== "" && encodeId(id) === name ? id : undefined;
}

/** @throws IdTooLongError when no folder can have the name of a session's */
export function assertShortId(id: string): void {
  const { length } = encodeId(id);
  if (length <= MAX_FILE_NAME) return;
  throw new IdTooLongError(`The id of the session is too long for a folder's name: ${length} bytes encoded`, {
    place: { sessionId: clip(id, 40) },
    hint: `Choose one of at most ${MAX_FILE_NAME} letters, or keep the session in SQLite.`,
  });
}

/** The folder for sessions with this working directory. Lossy: two directories may share one. */
export function projectFolder(cwd: string | undefined): string {
  if (cwd === undefined) return NO_PROJECT;
  const name = escapeUnits(cwd.replace(/[/\\:]+/g, "-")).replace(/^-+/, "");
  return `--${name === "" ? "root" : name.slice(0, MAX_PROJECT)}--`;
}

/** Whether a folder is named like that of a project. */
export function isProjectFolderName(name: string): boolean {
  return name === NO_PROJECT || /^--.+--$/s.test(name);
}

/** Where a new session lies. */
export function logPath(
  root: string,
  { id, cwd }: Pick<SessionHeader, "id" | "cwd">,
  encoding: Encoding,
): string {
  return join(root, projectFolder(cwd), encodeId(id), FILE_NAMES[encoding]);
}

/** What a file in a session's folder is. */
export type FileRole =
  | { readonly kind: "log"; readonly encoding: Encoding }
  /** A log of a later format. */
  | { readonly kind: "generation"; readonly version: number }
  | { readonly kind: "draft" }
  | { readonly kind: "other" };

export function roleOf(name: string): FileRole {
  if (name === FILE_NAMES.zstd) return { kind: "log", encoding: "zstd" };
  if (name === FILE_NAMES.none) return { kind: "log", encoding: "none" };
  if (DRAFT_NAME.test(name)) return { kind: "draft" };
  const version = /^session\.v(\d+)\.jsonl(?:\.zstd)?$/.exec(name)?.[1];
  return version === undefined ? { kind: "other" } : { kind: "generation", version: Number(version) };
}

/** A log that lies in its project's folder without a folder of its own: its encoded id, and how it is stored. */
export function flatLog(
  name: string,
): { readonly encodedId: string; readonly encoding: Encoding } | undefined {
  const match = /^(.+)\.jsonl(\.zstd)?$/.exec(name);
  const encodedId = match?.[1];
  if (encodedId === undefined) return undefined;
  return { encodedId, encoding: match?.[2] === undefined ? "none" : "zstd" };
}

export function draftName(unique: string): string {
  return `.holdfast-draft-${unique}`;
}

function escapeUnits(text: string): string {
  let out = "";
  for (let k = 0; k < text.length; k += 1) {
    const unit = text.charAt(k);
    const code = text.charCodeAt(k);
    out += /[A-Za-z0-9._-]/.test(unit) ? unit : `~${code.toString(16).toUpperCase().padStart(4, "0")}`;
  }
  return out;
}
