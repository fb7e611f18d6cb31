#!/usr/bin/env node
/*
 * Entry of the package scripts. It runs under Node or Bun alike, on a machine that has only one of them: it finds or
 * fetches the pinned Bun, installs the locked packages, and hands over to tasks.ts.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const pinned = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies.bun;
const windows = process.platform === "win32";
const local = join(root, "node_modules", "bun", "bin", "bun.exe");

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (result.error) {
    process.stderr.write(`cannot run ${command}: ${result.error.message}\n`);
    process.exit(1);
  }
  return result.status ?? 1;
}

function versionOf(bun) {
  const result = spawnSync(bun, ["--version"], { encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

function install() {
  const args = ["install", "--frozen-lockfile"];
  const quiet = { stdio: ["ignore", 2, 2] };
  const own = process.versions.bun === undefined ? undefined : process.execPath;
  if (own !== undefined) return run(own, args, quiet);
  if (existsSync(local) && versionOf(local) === pinned) return run(local, args, quiet);
  return run(windows ? "npx.cmd" : "npx", ["--yes", `bun@${pinned}`, ...args], { ...quiet, shell: windows });
}

const status = install();
if (status !== 0) process.exit(status);
if (versionOf(local) !== pinned) {
  process.stderr.write(`Bun ${pinned} was not installed: ${local} does not run\n`);
  process.exit(1);
}
const task = spawn(local, [join("scripts", "tasks.ts"), ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
// A signal to this process alone is passed on; Ctrl-C reaches the whole group by itself.
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => task.kill(signal));
process.on("SIGINT", () => undefined);
task.on("error", (error) => {
  process.stderr.write(`cannot run ${local}: ${error.message}\n`);
  process.exitCode = 1;
});
task.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
