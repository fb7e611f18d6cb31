import { HoldfastError } from "../session/errors.ts";
import { STORE_ERROR_TABLE } from "../store/errors.ts";
import { printable } from "./printable.ts";

/** Exit codes of every command. Source: docs/cli.md. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  corrupt: 5,
  locked: 6,
  unsupported: 7,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

const OTHER_CODES: Readonly<Record<string, number>> = {
  usage: EXIT.usage,
  "ambiguous-id": EXIT.usage,
  "provider-options": EXIT.usage,
  "fork-boundary": EXIT.usage,
  "port-in-use": EXIT.conflict,
  "socket-in-use": EXIT.conflict,
  "invocation-duplicate": EXIT.conflict,
  "invocation-cancelled": EXIT.conflict,
};

const STORE_CODES: Readonly<Record<string, { readonly exit: number }>> = STORE_ERROR_TABLE;

/** Exit code for a stable error code; 1 for one that has none of its own. */
export function exitCodeFor(code: string): number {
  return STORE_CODES[code]?.exit ?? OTHER_CODES[code] ?? EXIT.failure;
}

/** Writes an error to stderr as a person should read it, and returns the exit code. */
export function reportError(error: unknown): number {
  if (error instanceof HoldfastError) {
    // Ids and types of a foreign log stand in it as they are.
    process.stderr.write(`holdfast: ${printable(error.explain())}\n`);
    return exitCodeFor(error.code);
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(
    `holdfast: internal error: ${detail}\n  hint: This is a defect. Please report it with this text.\n`,
  );
  return EXIT.failure;
}
