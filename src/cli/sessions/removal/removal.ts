import { UsageError } from "../../../host/usage.ts";
import { HoldfastError } from "../../../store/errors.ts";
import { openStore, openStoreReadOnly } from "../../../store/open-store.ts";
import type { SessionPersistence } from "../../../store/persistence.ts";
import { PurgeNote } from "../../../store/purge-note.ts";
import { formatStoreName, type StoreName } from "../../../store/store-name.ts";
import { isAllOverwritten, openRemover, type SessionRemover } from "../../../store/trash.ts";
import { counted } from "../../counted.ts";
import { EXIT, exitCodeFor } from "../../exit-codes.ts";
import { jsonText } from "../../json-text.ts";
import { type Output, printing, printingOn } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { Progress } from "../../progress.ts";
import { StopSignals } from "../../stop-signals.ts";
import { outputColumns } from "../../wrap.ts";
import { canAsk, confirm } from "./confirm.ts";
import {
  type Doomed,
  doomedText,
  type Gone,
  goneText,
  type Missing,
  missingText,
  type Removed,
  removedText,
  shownOn,
} from "./removal-report.ts";
import { type Kept, restoreCommands } from "./restore.ts";

/** A program that reads a database may need what was deleted, and keeps it from being overwritten. */
const LEFT_NOTE =
  "holdfast: text of it may still be in the database or its write-ahead log, which cannot be emptied while something reads it\n" +
  "  hint: The next command or Host that writes the store empties it when it ends, unless something reads it then.\n";

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
  readonly gone: readonly Gone[];
  /** Where there are any, nothing is deleted. */
  readonly missing: readonly Missing[];
  /** The ids that the command names, if it names them: run again, it names the same ones. */
  readonly named?: readonly string[];
}

export type Planner = (store: SessionPersistence, signal: AbortSignal) => Promise<RemovalPlan>;

/** Says what would be deleted, and deletes nothing. Takes no lock. @param onPlan told how many sessions that are */
export async function previewRemoval(
  name: StoreName,
  { json }: { readonly json: boolean },
  planner: Planner,
  onPlan: (sessions: number) => void = () => undefined,
): Promise<number> {
  using stop = new StopSignals();
  return await printing(async (output) => {
    await using store = await openStoreReadOnly(name, { clock: Date.now });
    const plan = await planner(store, stop.signal);
    if (stop.code !== undefined) return stop.code;
    const printer = new Printer(output, json);
    await printer.plan(plan);
    if (isRefused(plan)) return await printer.refusal(plan, name);
    const n = plan.doomed.length;
    onPlan(n);
    await printer.print(`${counted(n, "session")} to delete from ${shownName(name)}; nothing was changed\n`, {
      kind: "summary",
      store: formatStoreName(name),
      sessions: n,
      deleted: 0,
      failed: 0,
      gone: plan.gone.length,
    });
    return EXIT.ok;
  });
}

/** Says what will be deleted, asks unless told not to, and deletes it. The store is locked from the beginning on. */
export async function remove(name: StoreName, flags: RemovalFlags, planner: Planner): Promise<number> {
  if (!flags.yes && !canAsk()) {
    let left = 0;
    const code = await previewRemoval(name, flags, planner, (sessions) => {
      left = sessions;
    });
    // With nothing to delete there is nothing to ask either.
    if (code !== EXIT.ok || left === 0) return code;
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
  const removal = await removeAll(name, flags, planner, stop, printer);
  if (typeof removal === "number") return removal;
  // Now that the store is closed: closing it overwrites what is left.
  const isOverwritten = flags.purge && removal.done > 0 ? isAllOverwritten(name) : undefined;
  const { done, failed, left, gone, trashed, trash } = removal;
  const restore = restoreCommands(trashed, trash, name);
  const kept = trashed.length === 0 ? {} : { trash, restore };
  const counts = {
    store: formatStoreName(name),
    sessions: done + failed.length + left,
    deleted: done,
    failed: failed.length,
    gone,
    ...(isOverwritten === undefined ? {} : { overwritten: isOverwritten }),
  };
  const lines = restore.map((command) => `to bring back what was deleted: ${printableLine(command)}\n`);
  const of = failed.length === 0 ? "" : `, ${failed.length} failed`;
  await printer.print([`${done} deleted from ${shownName(name)}${of}\n`, ...lines].join(""), {
    kind: "summary",
    ...counts,
    ...kept,
  });
  if (isOverwritten === false) process.stderr.write(LEFT_NOTE);
  if (left > 0)
    process.stderr.write(`holdfast: ${counted(left, "session")} of ${counts.sessions} left as they are\n`);
  if (stop.code !== undefined) return stop.code;
  const [first] = failed;
  return first === undefined ? EXIT.ok : exitCodeFor(first.code);
}

/** What became of the sessions that were to go. */
interface Removal {
  readonly done: number;
  readonly failed: readonly Extract<Removed, { readonly kind: "failed" }>[];
  /** How many were not come to. */
  readonly left: number;
  readonly gone: number;
  readonly trashed: readonly Kept[];
  /** Folder of this command. */
  readonly trash: string;
}

/** An exit code where nothing was to be deleted. The store is closed when it returns. */
async function removeAll(
  name: StoreName,
  flags: RemovalFlags,
  planner: Planner,
  stop: StopSignals,
  printer: Printer,
): Promise<Removal | number> {
  // Stays until the store is closed, which waits for readers.
  using progress = new Progress();
  // Nothing is made where there is no store.
  await (await openStoreReadOnly(name, { clock: Date.now })).close();
  await using store = await openStore(name, { clock: Date.now, chunkWindowMs: 0, thread: "process" });
  const plan = await planner(store, stop.signal);
  if (stop.code !== undefined) return stop.code;
  await printer.plan(plan);
  const note = new PurgeNote(name);
  if (isRefused(plan)) {
    if (flags.purge && plan.missing.length === 0) note.drop();
    return await printer.refusal(plan, name);
  }
  const asked = shownOn(process.stderr.isTTY === true)(formatStoreName(name));
  const question = `Delete ${counted(plan.doomed.length, "session")} from ${asked}${flags.purge ? " for good" : ""}?`;
  if (plan.doomed.length > 0 && !flags.yes && !(await confirm(question, stop.signal))) {
    process.stderr.write("\nholdfast: nothing was deleted\n");
    return stop.code ?? EXIT.failure;
  }
  await using remover = await openRemover(name, store, Date.now);
  // Of one there is nothing left to do after a kill.
  if (flags.purge && plan.named !== undefined && plan.named.length > 1) await note.add(plan.named);
  const removed: Removed[] = [];
  const trashed: Kept[] = [];
  for (const { id } of plan.doomed) {
    if (stop.signal.aborted) break;
    progress.show(`${removed.length + 1} of ${plan.doomed.length}: ${id}`);
    const result = await removeOne(remover, id, flags.purge, (kept) => trashed.push(kept));
    removed.push(result);
    progress.clear();
    await printer.removed(result);
    if (result.kind === "failed" && FATAL.has(result.code)) break;
  }
  const failed = removed.filter((result) => result.kind === "failed");
  const done = removed.length - failed.length;
  const left = plan.doomed.length - removed.length;
  if (flags.purge && left === 0 && failed.length === 0) note.drop();
  if (flags.purge && done > 0) progress.show("overwriting what was deleted");
  return { done, failed, left, gone: plan.gone.length, trashed, trash: remover.folder };
}

/** Whether nothing is deleted, since something that was named is not there, or nothing of it is. */
function isRefused({ missing, gone, doomed }: RemovalPlan): boolean {
  return missing.length > 0 || (gone.length > 0 && doomed.length === 0);
}

async function removeOne(
  remover: SessionRemover,
  id: string,
  purge: boolean,
  onTrashed: (kept: Kept) => void,
): Promise<Removed> {
  try {
    if (purge) {
      await remover.purge(id);
      return { kind: "deleted", id };
    }
    const trashed = await remover.trash(id);
    onTrashed({ ...trashed, id });
    const { path, form } = trashed;
    return { kind: "deleted", id, path, form };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { kind: "failed", id, code: error.code, reason: error.message, hint: error.hint };
  }
}

class Printer {
  readonly #output: Output;
  readonly #json: boolean;
  readonly #shown = shownOn(process.stdout.isTTY === true);

  constructor(output: Output, json: boolean) {
    this.#output = output;
    this.#json = json;
  }

  async plan({ doomed, gone, missing }: RemovalPlan): Promise<void> {
    for (const { id, candidates } of missing) {
      const alike = candidates.length === 0 ? {} : { candidates };
      await this.print(`missing ${this.#shown(id)}\n`, { kind: "missing", id, ...alike });
    }
    for (const session of gone)
      await this.print(goneText(session, outputColumns()), { kind: "gone", ...session });
    for (const session of this.#json ? doomed : [])
      await this.#output.write(`${jsonText({ kind: "session", ...session })}\n`);
    for (const text of this.#json ? [] : doomedText(doomed, outputColumns())) await this.#output.write(text);
    await this.#output.flush();
  }

  async removed(removed: Removed): Promise<void> {
    await this.print(removedText(removed, outputColumns()), removed);
  }

  /** Says that nothing is deleted, since some sessions are missing. */
  async refusal({ missing, gone }: RemovalPlan, name: StoreName): Promise<number> {
    const counts = { sessions: 0, deleted: 0, failed: 0, gone: gone.length };
    await this.print("", { kind: "summary", store: formatStoreName(name), ...counts });
    process.stderr.write(missingText(missing, name, shownOn(process.stderr.isTTY === true)));
    return EXIT.notFound;
  }

  /** What was done is told at once, whatever comes then. */
  async print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}

function shownName(name: StoreName): string {
  return shownOn(process.stdout.isTTY === true)(formatStoreName(name));
}
