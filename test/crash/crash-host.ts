import { cleanEnvironment, type Environment, executablePath } from "../fixtures/executable.ts";
import type { StoreKind } from "../fixtures/host-lab.ts";
import type { Ending } from "../fixtures/host-process.ts";
import { ProcessOutput } from "../fixtures/process-output.ts";

export interface CrashHostOptions {
  readonly kind: StoreKind;
  readonly store: string;
  readonly workspace: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly chunkWindowMs: number;
  readonly env?: Environment;
}

/** A Host that may be killed at any moment, also before it is ready. Killed when it is disposed. */
export class CrashHost implements AsyncDisposable {
  readonly stderr: ProcessOutput;
  /** Its URL; nothing when it ended before it was ready. */
  readonly ready: Promise<string | undefined>;
  /** Resolves when the process is gone and all its output was read. */
  readonly exited: Promise<Ending>;
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  #ending: Ending | undefined;

  constructor({ kind, store, workspace, baseUrl, model, chunkWindowMs, env }: CrashHostOptions) {
    const place =
      kind === "sqlite" ? ["--session-db", store] : ["--session-dir", store, "--jsonl-encoding", kind];
    const asked = ["--provider", "openai-compatible", "--model", model, "--base-url", baseUrl];
    const more = ["--workspace", workspace, "--chunk-window", String(chunkWindowMs), "--port", "0"];
    // One request a Step: what is tried again has tests of its own.
    more.push("--retries", "0");
    this.#child = Bun.spawn([executablePath(), "serve", ...place, ...asked, ...more], {
      stdio: ["ignore", "pipe", "pipe"],
      env: cleanEnvironment(env),
    });
    const stdout = new ProcessOutput(this.#child.stdout);
    this.stderr = new ProcessOutput(this.#child.stderr);
    this.ready = stdout.waitFor(/\n/).then(
      (text) => text.slice(0, text.indexOf("\n")),
      () => undefined,
    );
    this.exited = this.#end(stdout);
  }

  /** How it ended; nothing while it runs. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.exited;
  }

  async #end(stdout: ProcessOutput): Promise<Ending> {
    await this.#child.exited;
    await Promise.allSettled([stdout.whole, this.stderr.whole]);
    const { exitCode, signalCode } = this.#child;
    this.#ending = exitCode === null ? { signal: String(signalCode) } : { code: exitCode };
    return this.#ending;
  }
}
