import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { summarise } from "./junit.ts";

/* The tasks behind the package scripts. Each ends with an exit code; the first failing step ends a task. */

const root = join(import.meta.dir, "..");
const bun = process.execPath;
const DATABASE = "data/holdfast.db";
const executable = join(root, "dist", process.platform === "win32" ? "holdfast.exe" : "holdfast");

/** Type check, then format and lint. Run by Bun itself: there may be no Node. */
const CHECKS = [
  [bun, join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "."],
  [bun, join(root, "node_modules", "@biomejs", "biome", "bin", "biome"), "ci", "."],
];

const TASKS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  start: (args) => start(args),
  build: (args) => step([bun, "build.ts", ...args]),
  check: () => check(),
  test: (args) => test(args),
  bench: (args) => step([bun, "bench/run.ts", ...args]),
  crash: (args) => step([bun, "test/crash/main.ts", ...args]),
  fuzz: (args) => step([bun, "test/fuzz/main.ts", ...args]),
};

const [name = "", ...args] = process.argv.slice(2);
const task = TASKS[name];
if (task === undefined) {
  process.stderr.write(`There is no task "${name}"; there are ${Object.keys(TASKS).join(", ")}\n`);
  process.exit(2);
}
process.exit(await task(args));

/** Builds and runs a Host on embedded defaults: a SQLite store below ./data and the demo provider. */
async function start(extra: readonly string[]): Promise<number> {
  const built = await step([bun, "build.ts"], { stdout: "ignore" });
  if (built !== 0) return built;
  const store = namesStore(extra) ? [] : ["--session-db", DATABASE];
  const host = Bun.spawn([executable, "serve", ...store, ...extra], {
    cwd: root,
    stdio: ["inherit", "pipe", "inherit"],
  });
  // The Host decides how to end; this process only passes its end on.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => host.kill("SIGTERM"));
  for await (const chunk of host.stdout) {
    process.stdout.write(chunk);
    const said = new TextDecoder().decode(chunk).trim();
    if (/^https?:\/\/\S+$/.test(said)) hint(said, extra.length === 0 && store.length > 0);
  }
  return host.exited;
}

/** Whether somebody chose where the sessions lie, by a flag or by a variable. */
function namesStore(flags: readonly string[]): boolean {
  const names = ["--session-db", "--session-dir"];
  if (flags.some((flag) => names.some((name) => flag === name || flag.startsWith(`${name}=`)))) return true;
  return ["HOLDFAST_SESSION_DB", "HOLDFAST_SESSION_DIR"].some((name) => (process.env[name] ?? "") !== "");
}

/** @param isDefault whether everything is where it is when nobody chooses */
function hint(url: string, isDefault: boolean): void {
  const lines = [
    "Holdfast is running. In another terminal, try:",
    "",
    `  ./dist/holdfast invoke --url ${url} \\`,
    '    "What is in this folder?"',
    ...(isDefault
      ? [
          `  curl ${url}/api/v1/sessions/default`,
          `  sqlite3 ${DATABASE} \\`,
          "    'SELECT seq, type, data FROM session_events ORDER BY seq'",
        ]
      : []),
    "",
    "Stop it with Ctrl-C. Start it again, and the conversation goes on.",
    ...(isDefault ? [`So it does after kill -9 of its pid, which stands in`, `${DATABASE}.owner.`] : []),
  ];
  process.stderr.write(`\n${lines.join("\n")}\n`);
}

/** All that CI runs. The last line is the count of tests. */
async function test(patterns: readonly string[]): Promise<number> {
  const checked = await check();
  if (checked !== 0) return checked;
  const built = await step([bun, "build.ts"]);
  if (built !== 0) return built;
  mkdirSync(join(root, "dist"), { recursive: true });
  const report = join(root, "dist", "junit.xml");
  rmSync(report, { force: true });
  const env = { ...process.env, HOLDFAST_EXECUTABLE: executable };
  // Files side by side, on all cores; within one process they share what was loaded.
  const parallel = ["--parallel", "--no-isolate"];
  const command = [bun, "test", ...parallel, "--reporter=junit", `--reporter-outfile=${report}`, ...patterns];
  const tested = await step(command, { env });
  const { passed, failed, skipped } = summarise(readFileSync(report, "utf8"));
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return tested !== 0 || failed > 0 || passed === 0 ? 1 : 0;
}

async function check(): Promise<number> {
  for (const command of CHECKS) {
    const code = await step(command);
    if (code !== 0) return code;
  }
  return 0;
}

async function step(
  command: string[],
  options: { readonly env?: Record<string, string | undefined>; readonly stdout?: "ignore" } = {},
): Promise<number> {
  const child = Bun.spawn(command, {
    cwd: root,
    stdio: ["inherit", options.stdout ?? "inherit", "inherit"],
    env: options.env ?? process.env,
  });
  return child.exited;
}
