import { UsageError } from "../../../host/usage.ts";
import { HoldfastError } from "../../../store/errors.ts";
import { openStore, openStoreReadOnly } from "../../../store/open-store.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import type { StoreName } from "../../../store/store-name.ts";
import { openRemover, type SessionRemover } from "../../../store/trash.ts";
import { EXIT, exitCodeFor } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printing, printingOn } from "../../output.ts";
import { StopSignals } from "../../stop-signals.ts";
import { canAsk, confirm } from "./confirm.ts";
import { type Doomed, doomedText, type Removed, removedText, restoreCommands } from "./removal-report.ts";

/** After such an error no other session can be deleted either. */
const FATAL = new Set(["storage-full", "closed"]);

export interface RemovalFlags {
  /** Delete without a question. */
  readonly yes: boolean;
  /** Keep nothing in the trash. */
  readonly purge: boolean;
  readonly json: boolean;
}

/** What a command would delete. */
export interface RemovalPlan {
  readonly doomed: readonly Doomed[];
  /** Sessions that were named and are not there. */
  readonly missing: readonly string[];
}

export type Planner = (store: SessionPersistence, signal: AbortSignal) => Promise<RemovalPlan>;

/** Says what would be deleted, and deletes nothing. Takes no lock. */
export function previewRemoval(name: StoreName, { json }: { readonly json: boolean }, planner: Planner) {
  using stop = new StopSignals();
  return printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const plan = await planner(store, stop.signal);
    if (stop.code !== undefined) return stop.code;
    const printer = new Printer(output, json);
    await printer.plan(plan);
    const n = plan.doomed.length;
    await printer.print(`${counted(n)} to delete; nothing was changed\n`, {
      kind: "summary",
      sessions: n,
      deleted: 0,
      failed: 0,
    });
    return plan.missing.length === 0 ? EXIT.ok : EXIT.notFound;
  });
}

/** Says what will be deleted, asks unless told not to, and deletes it. The store is locked from the beginning on. */
export async function remove(name: StoreName, flags: RemovalFlags, planner: Planner): Promise<number> {
  if (!flags.yes && !canAsk()) {
    await previewRemoval(name, flags, planner);
    throw new UsageError(
      "Nothing was deleted: there is no terminal to ask on",
      "Say --yes to delete what is listed.",
    );
  }
  using stop = new StopSignals();
  return await printingOn((output) => run(name, flags, planner, stop, new Printer(output, flags.json)));
}

async function run(
  name: StoreName,
  flags: RemovalFlags,
  planner: Planner,
  stop: StopSignals,
  printer: Printer,
): Promise<number> {
  // Nothing is made where there is no store.
  await (await openStoreReadOnly(name, { clock: Date.now })).close();
  await using store = await openStore(name, { clock: Date.now, chunkWindowMs: 0, thread: "process" });
  const plan = await planner(store, stop.signal);
  if (stop.code !== undefined) return stop.code;
  await printer.plan(plan);
  const question = `Delete ${counted(plan.doomed.length)}${flags.purge ? " for good" : ""}?`;
  if (plan.doomed.length > 0 && !flags.yes && !(await confirm(question, stop.signal))) {
    process.stderr.write("\nholdfast: nothing was deleted\n");
    return stop.code ?? EXIT.failure;
  }
  await using remover = await openRemover(name, store, Date.now);
  const removed: Removed[] = [];
  for (const { id } of plan.doomed) {
    if (stop.signal.aborted) break;
    const result = await removeOne(remover, id, flags.purge);
    removed.push(result);
    await printer.print(removedText(result), result);
    if (result.kind === "failed" && FATAL.has(result.code)) break;
  }
  const failed = removed.filter((result) => result.kind === "failed");
  const done = removed.length - failed.length;
  const restore = restoreCommands(removed, remover.folder, name);
  const kept = restore.length === 0 ? {} : { trash: remover.folder, restore };
  const counts = { sessions: plan.doomed.length, deleted: done, failed: failed.length };
  const lines = restore.map((command) => `to bring back what was deleted: ${command}\n`);
  const of = failed.length === 0 ? "" : `, ${failed.length} failed`;
  await printer.print([`${done} deleted${of}\n`, ...lines].join(""), { kind: "summary", ...counts, ...kept });
  const left = plan.doomed.length - removed.length;
  if (left > 0)
    process.stderr.write(`holdfast: ${counted(left)} of ${plan.doomed.length} left as they are\n`);
  if (stop.code !== undefined) return stop.code;
  const [first] = failed;
  if (first !== undefined) return exitCodeFor(first.code);
  return plan.missing.length === 0 ? EXIT.ok : EXIT.notFound;
}

async function removeOne(remover: SessionRemover, id: string, purge: boolean): Promise<Removed> {
  try {
    if (!purge) return { kind: "deleted", id, ...(await remover.trash(id)) };
    await remover.purge(id);
    return { kind: "deleted", id };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { kind: "failed", id, code: error.code, reason: error.message, hint: error.hint };
  }
}

class Printer {
  readonly #output: Output;
  readonly #json: boolean;

  constructor(output: Output, json: boolean) {
    this.#output = output;
    this.#json = json;
  }

  async plan({ doomed, missing }: RemovalPlan): Promise<void> {
    for (const id of missing) await this.print(`missing ${id}\n`, { kind: "missing", id });
    for (const session of doomed) await this.print(doomedText(session), { kind: "session", ...session });
  }

  /** What was done is told at once, whatever comes then. */
  async print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}

function counted(n: number): string {
  return n === 1 ? "1 session" : `${n} sessions`;
}
