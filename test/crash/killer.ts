import type { CrashHost } from "./crash-host.ts";
import type { KillPlan, Trigger } from "./kill-points.ts";

/** Longest time for a shutdown in order. */
const END_TIMEOUT = 12_000;

/** Ends a Host as planned, once what the plan waits for has come. */
export class Killer {
  readonly #host: CrashHost;
  readonly #plan: KillPlan;
  readonly #beforeTermination: () => void;
  #strike: Promise<void> | undefined;
  #hit = false;
  #overdue = false;

  /** @param beforeTermination called before the Host is asked to shut down */
  constructor(host: CrashHost, plan: KillPlan, beforeTermination: () => void) {
    this.#host = host;
    this.#plan = plan;
    this.#beforeTermination = beforeTermination;
  }

  /** Whether the planned moment has come. */
  get hit(): boolean {
    return this.#hit;
  }

  /** Whether nothing more shall happen from outside until the Host is gone. */
  get holds(): boolean {
    return this.#hit && this.#plan.hold;
  }

  /** Whether the Host's end was begun from here. */
  get hasBegun(): boolean {
    return this.#strike !== undefined;
  }

  /** Whether the Host was asked to shut down, and had to be killed since it took too long. */
  get overdue(): boolean {
    return this.#overdue;
  }

  /** Says that something happened. What it returns holds up who said it. */
  happened(what: Trigger): Promise<unknown> | undefined {
    if (!this.#hit && this.#strike === undefined && Bun.deepEquals(what, this.#plan.trigger)) {
      this.#hit = true;
      this.#strike = this.#run(this.#plan.afterMs);
    }
    return this.holds ? this.#host.exited : undefined;
  }

  /** Ends the Host now if nothing has yet, and waits until it is gone. */
  async finish(): Promise<void> {
    if (this.#host.ending === undefined) this.#strike ??= this.#run(0);
    await this.#strike;
    await this.#host.exited;
  }

  async #run(afterMs: number): Promise<void> {
    const host = this.#host;
    if (afterMs > 0) await Bun.sleep(afterMs);
    const { manner } = this.#plan;
    if (manner.kind === "stop") {
      host.kill("SIGSTOP");
      await Bun.sleep(manner.stillMs);
      if (manner.thenMs !== undefined) {
        host.kill("SIGCONT");
        await Bun.sleep(manner.thenMs);
      }
    } else if (manner.kind === "terminate" || manner.kind === "end") {
      this.#beforeTermination();
      host.kill("SIGTERM");
      const isGone = await this.#goneWithin(manner.kind === "end" ? END_TIMEOUT : manner.graceMs);
      this.#overdue = manner.kind === "end" && !isGone;
    }
    host.kill("SIGKILL");
  }

  async #goneWithin(ms: number): Promise<boolean> {
    const time = Promise.withResolvers<void>();
    const timer = setTimeout(time.resolve, ms);
    await Promise.race([this.#host.exited, time.promise]);
    clearTimeout(timer);
    return this.#host.ending !== undefined;
  }
}
