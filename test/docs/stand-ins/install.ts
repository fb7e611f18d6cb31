import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The view needs the JSON operators that came with this version. */
const OLDEST_SQLITE = [3, 38];

/** Puts commands that the documentation uses and that this machine lacks into the folder `bin`. */
export function installStandIns(bin: string): void {
  if (!hasSqlite()) install(bin, "sqlite3");
  if (Bun.which("curl") === null) install(bin, "curl");
}

function hasSqlite(): boolean {
  if (Bun.which("sqlite3") === null) return false;
  const { stdout } = Bun.spawnSync(["sqlite3", "--version"]);
  const [major = 0, minor = 0] = stdout.toString().split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_SQLITE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

function install(bin: string, name: string): void {
  const script = join(import.meta.dir, `${name}.ts`);
  const path = join(bin, name);
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
  chmodSync(path, 0o755);
}
