import { UsageError } from "../../../host/usage.ts";
import { HoldfastError } from "../../../store/errors.ts";
import { openStore, openStoreReadOnly } from "../../../store/open-store.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { openRemover, type SessionRemover } from "../../../store/trash.ts";
import { counted } from "../../counted.ts";
import { EXIT, exitCodeFor } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printing, printingOn } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { canAsk, confirm } from "./confirm.ts";
import {
  type Doomed,
  doomedText,
  type Missing,
  missingText,
  type Removed,
  removedText,
  restoreCommands,
} from "./removal-report.ts";

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
  /** Where there are any, nothing is deleted. */
  readonly missing: readonly Missing[];
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
    if (plan.missing.length > 0) return await printer.refusal(plan, name);
    const n = plan.doomed.length;
    await printer.print(`${counted(n, "session")} to delete from ${shownName(name)}; nothing was changed\n`, {
      kind: "summary",
      store: formatStoreName(name),
      sessions: n,
      deleted: 0,
      failed: 0,
    });
    return EXIT.ok;
  });
}

/** Says what will be deleted, asks unless told not to, and deletes it. The store is locked from the beginning on. */
export async function remove(name: StoreName, flags: RemovalFlags, planner: Planner): Promise<number> {
  if (!flags.yes && !canAsk()) {
    const code = await previewRemoval(name, flags, planner);
    if (code !== EXIT.ok) return code;
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
  if (plan.missing.length > 0) return await printer.refusal(plan, name);
  const question = `Delete ${counted(plan.doomed.length, "session")} from ${shownName(name)}${flags.purge ? " for good" : ""}?`;
  if (plan.doomed.length > 0 && !flags.yes && !(await confirm(question, stop.signal))) {
    process.stderr.write("\nholdfast: nothing was deleted\n");
    return stop.code ?? EXIT.failure;
  }
  await using remover = await openRemover(name, store, Date.now);
  using progress = new Progress();
  const removed: Removed[] = [];
  for (const { id } of plan.doomed) {
    if (stop.signal.aborted) break;
    progress.show(`${removed.length + 1} of ${plan.doomed.length}: ${id}`);
    const result = await removeOne(remover, id, flags.purge);
    removed.push(result);
    progress.clear();
    await printer.print(removedText(result), result);
    if (result.kind === "failed" && FATAL.has(result.code)) break;
  }
  const failed = removed.filter((result) => result.kind === "failed");
  const done = removed.length - failed.length;
  const restore = restoreCommands(removed, remover.folder, name);
  const kept = restore.length === 0 ? {} : { trash: remover.folder, restore };
  const counts = {
    store: formatStoreName(name),
    sessions: plan.doomed.length,
    deleted: done,
    failed: failed.length,
  };
  const lines = restore.map((command) => `to bring back what was deleted: ${command}\n`);
  const of = failed.length === 0 ? "" : `, ${failed.length} failed`;
  await printer.print([`${done} deleted from ${shownName(name)}${of}\n`, ...lines].join(""), {
    kind: "summary",
    ...counts,
    ...kept,
  });
  const left = plan.doomed.length - removed.length;
  if (left > 0)
    process.stderr.write(`holdfast: ${counted(left, "session")} of ${plan.doomed.length} left as they are\n`);
  if (stop.code !== undefined) return stop.code;
  const [first] = failed;
  return first === undefined ? EXIT.ok : exitCodeFor(first.code);
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
    for (const { id, candidates } of missing) {
      const alike = candidates.length === 0 ? {} : { candidates };
      await this.print(`${printableLine(`missing ${id}`)}\n`, { kind: "missing", id, ...alike });
    }
    for (const session of doomed) await this.print(doomedText(session), { kind: "session", ...session });
  }

  /** Says that nothing is deleted, since some sessions are missing. */
  async refusal({ missing }: RemovalPlan, name: StoreName): Promise<number> {
    const counts = { sessions: 0, deleted: 0, failed: 0 };
    await this.print("", { kind: "summary", store: formatStoreName(name), ...counts });
    process.stderr.write(missingText(missing, name));
    return EXIT.notFound;
  }

  /** What was done is told at once, whatever comes then. */
  async print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}

function shownName(name: StoreName): string {
  return printableLine(formatStoreName(name));
}
