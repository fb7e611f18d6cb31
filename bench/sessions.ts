import { rmSync } from "node:fs";
import { join } from "node:path";
import { BenchFolder, type Figure, format, runCase } from "./measure.ts";

/*
 * What the commands of `holdfast sessions` cost on stores of 10,000 sessions, on one session of a million events, and on a
 * log of 600 MB: time to the first byte on stdout, time in all, and the most memory that was resident.
 */

const SESSIONS = 10_000;
const MILLION_MB = 41;
const LARGE_MB = 600;
/** Longest time to the first output, in milliseconds, where a command can stream. */
const FIRST_MS = 1_000;
const PEAK_MB = 300;

interface Run {
  readonly code: number;
  /** Milliseconds to the first output; absent where there was none. */
  readonly first?: number;
  readonly ms: number;
  readonly bytes: number;
  readonly peak: number;
}

/** What is run: its words, and whether its output begins while it reads. */
interface Command {
  readonly args: readonly string[];
  readonly streams?: boolean;
}

/** Each takes minutes, and up to a few GB in the temporary folder. */
export function sessionsParts(executable: string): Readonly<Record<string, () => AsyncIterable<Figure>>> {
  const part = (measure: (bench: SessionsBench) => AsyncIterable<Figure>) =>
    async function* () {
      using folder = new BenchFolder();
      yield* measure(new SessionsBench(executable, folder));
    };
  return {
    "sessions-many": part((bench) => bench.many()),
    "sessions-million": part((bench) => bench.long("a million events", "zstd", MILLION_MB)),
    "sessions-large": part((bench) => bench.long("600 MB", "none", LARGE_MB)),
  };
}

class SessionsBench {
  readonly #executable: string;
  readonly #folder: BenchFolder;

  constructor(executable: string, folder: BenchFolder) {
    this.#executable = executable;
    this.#folder = folder;
  }

  /** A root and a database of many small sessions. */
  async *many(): AsyncIterable<Figure> {
    const root = this.#folder.file("many");
    const database = this.#folder.file("many.db");
    await runCase("jsonl-list", ["fill", root, String(SESSIONS)]);
    await this.#must(["copy", "--all", "--from", root, "--to", database]);
    for (const [kind, store] of [
      ["logs", root],
      ["database", database],
    ] as const) {
      const what = `${format(SESSIONS)} sessions, ${kind}`;
      for (const command of this.#onMany(store, kind)) yield await this.#figure(what, command);
      rmSync(store, { recursive: true, force: true });
    }
  }

  /** One long session as a log and in a database. */
  async *long(what: string, encoding: "zstd" | "none", megabytes: number): AsyncIterable<Figure> {
    const root = this.#folder.file("long");
    const database = this.#folder.file("long.db");
    const { events } = await runCase<{ events: number }>("verify-fill", [root, encoding, String(megabytes)]);
    await this.#must(["copy", "--all", "--from", root, "--to", database]);
    const [session = ""] = JSON.parse(`[${await this.#output(["list", root, "--json", "--limit", "1"])}]`);
    for (const [kind, store] of [
      ["log", root],
      ["database", database],
    ] as const) {
      for (const command of this.#onLong(store, kind, session.id, events)) {
        // The lines of 600 MB of packed events are several GB.
        const isTooMuch =
          megabytes === LARGE_MB && ["jsonl", "import"].some((word) => command.args.includes(word));
        if (!isTooMuch) yield await this.#figure(`${what}, ${kind}`, command);
      }
      rmSync(store, { recursive: true, force: true });
    }
  }

  #onMany(store: string, kind: string): Command[] {
    const out = this.#folder.file(`many-${kind}.jsonl`);
    return [
      { args: ["list", store] },
      { args: ["list", store, "--limit", "20"] },
      { args: ["show", "session-77", store, "--json"] },
      { args: ["search", "nowhere", store] },
      { args: ["stats", "--all", store] },
      { args: ["export", "--all", store, "--format", "jsonl", "-o", out] },
      { args: ["import", out, "--to", this.#folder.file(`many-again-${kind}.db`)] },
      { args: ["backup", store, "--to", this.#folder.file(`many-backup-${kind}`)] },
      { args: ["compact", "--all", store, "--dry-run"] },
      { args: ["prune", "--older-than", "1d", "--dry-run", store] },
      { args: ["delete", "session-77", store, "--yes"] },
    ];
  }

  #onLong(store: string, kind: string, id: string, events: number): Command[] {
    const out = (name: string) => this.#folder.file(`long-${kind}.${name}`);
    return [
      { args: ["list", store] },
      { args: ["show", id, store], streams: true },
      { args: ["show", id, store, "--events"], streams: true },
      { args: ["show", id, store, "--json"] },
      { args: ["show", id, store, "--from", String(events - 1_000)], streams: true },
      { args: ["tail", id, store, "-n", "10"], streams: true },
      { args: ["search", "e", store], streams: true },
      { args: ["search", "nowhere at all", store] },
      { args: ["stats", id, store] },
      { args: ["export", id, store, "--format", "md"] },
      { args: ["export", id, store, "--format", "html"] },
      { args: ["export", id, store, "--format", "json"], streams: true },
      { args: ["export", id, store, "--format", "jsonl", "--redact", "-o", out("jsonl")] },
      { args: ["import", out("jsonl"), "--to", out("again.db")] },
      { args: ["fork", id, store] },
      { args: ["rename", id, "Long", store] },
      { args: ["backup", store, "--to", out("backup")] },
      { args: ["compact", "--all", store] },
      { args: ["show", id, store, "--from", String(events - 1_000)], streams: true },
      { args: ["delete", id, store, "--yes"] },
    ];
  }

  async #figure(what: string, { args, streams = false }: Command): Promise<Figure> {
    const { code, first, ms, bytes, peak } = await this.#run(args);
    const began = first === undefined ? "no output" : `first output after ${format(first)} ms`;
    const shown = args.filter((arg) => !arg.startsWith(this.#folder.path)).join(" ");
    const isEarly = !streams || (first !== undefined && first <= FIRST_MS);
    return {
      what: `${what}: ${shown}`,
      value: `${began}, ${format(ms / 1000, 2)} s in all, peak ${format(peak)} MB`,
      against: `${format(bytes)} bytes of output, exit code ${code}`,
      target: `at most ${PEAK_MB} MB${streams ? `, and ${FIRST_MS} ms to the first output` : ""}`,
      met: peak <= PEAK_MB && isEarly && (code === 0 || (code === 1 && args[0] === "search")),
    };
  }

  async #must(args: readonly string[]): Promise<void> {
    const { code } = await this.#run(args);
    if (code !== 0) throw new Error(`holdfast sessions ${args.join(" ")} ended with ${code}`);
  }

  async #output(args: readonly string[]): Promise<string> {
    const child = this.#spawn(args);
    const [line = ""] = (await new Response(child.stdout).text()).split("\n");
    return line;
  }

  async #run(args: readonly string[]): Promise<Run> {
    const start = performance.now();
    const child = this.#spawn(args);
    let first: number | undefined;
    let bytes = 0;
    for await (const chunk of child.stdout) {
      first ??= performance.now() - start;
      bytes += chunk.length;
    }
    const code = await child.exited;
    const ms = performance.now() - start;
    const peak = (child.resourceUsage()?.maxRSS ?? Number.NaN) / 1024 / 1024;
    return { code, ...(first === undefined ? {} : { first }), ms, bytes, peak };
  }

  #spawn(args: readonly string[]) {
    return Bun.spawn([this.#executable, "sessions", ...args], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { ...process.env, XDG_CACHE_HOME: join(this.#folder.path, "cache") },
    });
  }
}
