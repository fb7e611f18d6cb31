import { rmSync } from "node:fs";

/** Removes what nothing hangs on, such as a draft that a killed process left. What cannot be removed stays. */
export function sweep(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Another user's, say: it takes space, and nothing else hangs on it.
  }
}
