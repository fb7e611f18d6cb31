import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM } from "../../../src/store/file-system.ts";
import { type ExamineOptions, examineStore } from "../../../src/store/health/examine.ts";
import { parseStoreName } from "../../../src/store/store-name.ts";

/** Looks at a store as `holdfast doctor` does. */
export function examine(name: string, options: Partial<ExamineOptions> = {}) {
  return examineStore(parseStoreName(name), {
    mayWrite: true,
    now: () => performance.now(),
    newId: () => crypto.randomUUID(),
    signal: new AbortController().signal,
    system: SYSTEM,
    ...options,
  });
}

/** Codes of what was found but for what is fine, and for what hangs on the machine that tests run on. */
export async function codesOf(name: string, options?: Partial<ExamineOptions>): Promise<string[]> {
  const { findings } = await examine(name, options);
  const ofMachine = /^(memory-file-system|container-layer|space-low|no-barriers|sync-)/;
  return findings
    .filter(({ level, code }) => level !== "ok" && !ofMachine.test(code))
    .map(({ code }) => code);
}

/** Every file below a folder, and that folder itself, with size, time and mode. */
export function timesBelow(folder: string): string[] {
  const names = ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })].toSorted();
  return names.map((name) => {
    const { size, mtimeMs, mode } = statSync(join(folder, name));
    return [name, size, mtimeMs, mode].join(" ");
  });
}
