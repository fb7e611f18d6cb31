import { faultEnvironment } from "../fixtures/fault-shim.ts";
import { CrashHost } from "./crash-host.ts";
import { CrashModel } from "./crash-model.ts";
import { Killer } from "./killer.ts";
import { need } from "./need.ts";
import type { InvocationPlan, RunPlan } from "./plan.ts";
import { readSession } from "./session-read.ts";
import type { StoreLife } from "./store-life.ts";
import type { Workspace } from "./workspace.ts";

/** Longest time for what a Host does in a run, far beyond what any takes. */
const TIMEOUT = 30_000;
/** Exit code of a Host that was asked to end. */
const TERMINATED = 143;

/**
 * Starts a Host on the store of a life, works with it and ends it as planned, and checks everything.
 * @param isLast whether no other Host follows on this store
 * @returns whether the Host ended where that was planned, and not after its last answer
 * @throws Error saying what is wrong
 */
export async function performRun(
  life: StoreLife,
  plan: RunPlan,
  workspace: Workspace,
  isLast: boolean,
): Promise<boolean> {
  const run = new Run(life, plan);
  return await run.perform(workspace.path, isLast);
}

class Run {
  readonly #life: StoreLife;
  readonly #plan: RunPlan;
  /** The first thing that went wrong beside the main course. */
  #failure: unknown;
  /** Whether an input was left without an answer. */
  #unanswered = false;

  constructor(life: StoreLife, plan: RunPlan) {
    this.#life = life;
    this.#plan = plan;
  }

  async perform(workspace: string, isLast: boolean): Promise<boolean> {
    const { kill, hot, tear, shows, chance } = this.#plan;
    const life = this.#life;
    const { journal, place } = life;
    journal.begin(this.#plan);
    let killer: Killer | undefined;
    await using model = new CrashModel((input) => journal.invocationOf(input), {
      asked: (id, answer, body) => {
        this.#note(() => life.markSeen());
        const attempt = journal.asked(id, answer, body);
        if (answer === 0 && attempt === 1) this.#cancelIfPlanned(id, url);
        if (attempt > 1) killer?.happened({ on: "retried", id, step: answer, attempt: attempt - 1 });
        return { attempt, held: killer?.happened({ on: "request", id, step: answer }) };
      },
      fails: (id, answer, attempt) => {
        killer?.happened({ on: "failed", id, step: answer, attempt });
      },
      sends: (id, answer, item) => {
        journal.sends(id, answer, item);
        return killer?.happened({ on: "item", id, step: answer, item });
      },
    });
    await using host = new CrashHost({
      kind: place.kind,
      store: place.path,
      workspace,
      baseUrl: model.baseUrl,
      model: this.#plan.model,
      chunkWindowMs: this.#plan.chunkWindowMs,
      env: this.#environment(),
    });
    const watchdog = setTimeout(() => {
      this.#failure ??= new Error(`the Host did not come to an end in ${TIMEOUT / 1000} s`);
      host.kill("SIGKILL");
    }, TIMEOUT);
    let url = "";
    let ready = false;
    try {
      killer = new Killer(host, kill, () => journal.terminates(this.#plan));
      killer.happened({ on: "spawned" });
      url = (await host.ready) ?? "";
      if (url !== "") {
        ready = await this.#reopened(url);
        killer.happened({ on: "ready" });
        const reading = this.#read(url, host, killer);
        await Promise.race([this.#converse(url, host, killer), host.exited]);
        // Without an answer the Host is gone, even if nobody has noticed yet.
        if (this.#unanswered && !killer.hasBegun) await host.exited;
        if (host.ending === undefined) killer.happened({ on: "settled" });
        await Promise.all([killer.finish(), reading]);
      } else {
        await host.exited;
        await killer.finish();
      }
    } finally {
      clearTimeout(watchdog);
    }
    if (this.#failure !== undefined) throw this.#failure;
    const ended = await this.#checkEnding(host, killer);
    const tore = ready && !ended && tear && life.tear(chance.next());
    if (hot && !isLast && !ended && !tore) life.skipStopped();
    else await life.checkStopped({ ready, ended, form: shows });
    // Within its shutdown a Host may kill itself as well.
    return kill.fault === undefined ? killer.hit : !ended && (!killer.hasBegun || kill.manner.kind === "end");
  }

  #environment(): Record<string, string> {
    const { kill, slow } = this.#plan;
    const { folder, kind } = this.#life.place;
    if (kill.fault !== undefined) return faultEnvironment({ below: folder, ...kill.fault });
    if (slow === undefined) return {};
    // Of a database only the log of its commits: it writes a page or two at a time.
    const name = kind === "sqlite" ? { name: "-wal" } : {};
    const action = { slowMs: slow.ms };
    return faultEnvironment({ below: folder, on: slow.on, at: 1, times: Infinity, action, ...name });
  }

  /** Reads the session as the Host has opened it. @returns whether that was possible */
  async #reopened(url: string): Promise<boolean> {
    const read = await readSession(url);
    if (read === undefined) return false;
    this.#life.takeReopened(read);
    return read.whole;
  }

  /** Reads the session again and again until the Host is gone. */
  async #read(url: string, host: CrashHost, killer: Killer): Promise<void> {
    while (host.ending === undefined && this.#failure === undefined) {
      try {
        await this.#readOnce(url, killer);
      } catch (error) {
        this.#failure ??= error;
      }
      // A long log takes its time to be read, which the Host would have none left beside.
      const pause = Math.max(this.#plan.readPauseMs, this.#life.model.length / 150);
      await Promise.race([host.exited, Bun.sleep(pause)]);
    }
  }

  async #readOnce(url: string, killer: Killer): Promise<void> {
    const known = this.#life.model.length;
    const read = await readSession(url);
    if (read === undefined) return;
    this.#life.takeRead(read, known);
    if (this.#life.model.hasRunningCall) killer.happened({ on: "call" });
  }

  /** Sends the inputs and takes the answers. Ends with the last one; what a Host that is gone left open is no answer. */
  async #converse(url: string, host: CrashHost, killer: Killer): Promise<void> {
    let answers: Array<Promise<void>> = [];
    for (const invocation of this.#plan.invocations) {
      if (!invocation.queued) {
        await Promise.all(answers);
        answers = [];
      }
      if (killer.holds) await host.exited;
      if (host.ending !== undefined) return;
      answers.push(this.#invoke(url, invocation, killer));
    }
    await Promise.all(answers);
  }

  async #invoke(url: string, { id, input }: InvocationPlan, killer: Killer): Promise<void> {
    let status: number;
    let body: unknown;
    try {
      const response = await fetch(`${url}/api/v1/agent/invocations/${id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ input }),
      });
      ({ status } = response);
      body = await response.json();
    } catch {
      this.#unanswered = true;
      return; // no answer, or half of one
    }
    this.#life.markSeen();
    this.#life.journal.answers.push({ id, status, body });
    killer.happened({ on: "answer", id });
  }

  #cancelIfPlanned(id: string, url: string): void {
    const invocation = this.#plan.invocations.find((one) => one.id === id);
    if (invocation?.cancelled !== true) return;
    this.#life.journal.cancels(id);
    fetch(`${url}/api/v1/agent/invocations/${id}`, { method: "DELETE" }).catch(() => undefined);
  }

  /** @returns whether the Host ended in order. @throws Error when nothing accounts for how it ended */
  async #checkEnding(host: CrashHost, killer: Killer): Promise<boolean> {
    const ending = await host.exited;
    const { manner, fault } = this.#plan.kill;
    need(!killer.overdue, `the Host did not shut down in time:\n${host.stderr.text}`);
    const isOrderly = "code" in ending && ending.code === TERMINATED;
    if (isOrderly && killer.hasBegun && (manner.kind === "end" || manner.kind === "terminate")) return true;
    const isKilled = "signal" in ending && ending.signal === "SIGKILL";
    const isMeant = fault !== undefined || (killer.hasBegun && manner.kind !== "end");
    need(isKilled && isMeant, `the Host ended with ${JSON.stringify(ending)}:\n${host.stderr.text}`);
    return false;
  }

  #note(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#failure ??= error;
    }
  }
}
