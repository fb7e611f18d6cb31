import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BenchFolder, median } from "./measure.ts";

/* Start-up of the executable, against a bare compiled Bun.serve of the same Bun. */

const RUNS = 9;

export interface Startup {
  /** Milliseconds, medians. */
  readonly bareAnswer: number;
  readonly help: number;
  readonly answer: number;
  readonly idleMb: number;
}

export async function measureStartup(executable: string): Promise<Startup> {
  using folder = new BenchFolder();
  const bare = folder.file("bare");
  await Bun.build({
    entrypoints: [join(import.meta.dir, "cases", "bare-server.ts")],
    bytecode: true,
    format: "esm",
    compile: { outfile: bare },
  });
  const samples = { bareAnswer: [0], help: [0], answer: [0], idleMb: [0] };
  for (const list of Object.values(samples)) list.length = 0;
  for (let run = 0; run < RUNS; run += 1) {
    samples.bareAnswer.push((await firstAnswer([bare], "/")).ms);
    samples.help.push(await wall([executable, "--help"]));
    const store = folder.file(`store-${run}.db`);
    const started = await firstAnswer(
      [executable, "serve", "--port", "0", "--session-db", store],
      "/healthz",
    );
    samples.answer.push(started.ms);
    samples.idleMb.push(started.idleMb);
  }
  const bareAnswer = median(samples.bareAnswer);
  return {
    bareAnswer,
    help: median(samples.help),
    answer: median(samples.answer),
    idleMb: median(samples.idleMb),
  };
}

async function wall(command: string[]): Promise<number> {
  const start = performance.now();
  await Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] }).exited;
  return performance.now() - start;
}

/** From spawn to the first HTTP answer; then the resident memory of the idle server. */
async function firstAnswer(
  command: string[],
  path: string,
): Promise<{ readonly ms: number; readonly idleMb: number }> {
  const start = performance.now();
  const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "ignore"] });
  try {
    let url = "";
    for await (const chunk of child.stdout) {
      url += new TextDecoder().decode(chunk);
      if (url.includes("\n")) break;
    }
    await (await fetch(url.trim() + path)).text();
    const ms = performance.now() - start;
    // Long enough for start-up garbage to be collected, as in a server that waits for its first request.
    await Bun.sleep(300);
    return { ms, idleMb: residentOf(child.pid) };
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

/** In MB; not a number where there is no /proc. */
function residentOf(pid: number): number {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) return Number.NaN;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(path, "utf8"))?.[1]) / 1024;
}
