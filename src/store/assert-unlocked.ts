import { LockedError } from "./errors.ts";
import { lockFiles } from "./jsonl/layout.ts";
import { resolveStorePath } from "./paths.ts";
import type { StoreName } from "./store-name.ts";
import { probeWriterLock } from "./writer-lock.ts";

/**
 * Looks whether a process holds the store; nothing is taken, opened or made. It may be held a moment later.
 * @param instead what else can be done than to stop the process that holds it
 * @throws LockedError
 */
export function assertUnlocked({ kind, path }: StoreName, instead?: string): void {
  const resolved = resolveStorePath(path);
  const lock = probeWriterLock(resolved, kind === "jsonl" ? lockFiles(resolved) : resolved);
  if (lock.state === "held") throw new LockedError(resolved, lock.holder, instead);
}
