import { storeAndIds } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import type { StoreCompactor, StoreSizes } from "../../store/compactor.ts";
import { HoldfastError, NotFoundError, StorageFullError } from "../../store/errors.ts";
import { openCompactor } from "../../store/open-compactor.ts";
import { openStoreReadOnly } from "../../store/open-store.ts";
import { resolveStorePath } from "../../store/paths.ts";
import type { SessionPersistence } from "../../store/persistence.ts";
import type { StoreName } from "../../store/store-name.ts";
import { EXIT, exitCodeFor } from "../exit-codes.ts";
import { jsonText } from "../json-text.ts";
import { type Output, printing, printingOn } from "../output.ts";
import { printableLine } from "../printable.ts";
import { Progress } from "../progress.ts";
import { StopSignals } from "../stop-signals.ts";
import { type CompactReport, reportJson, reportText, summaryJson, summaryText } from "./compact-report.ts";
import { isGone, tellGone } from "./gone.ts";
import { resolveSessionId, tellMissing } from "./session-id.ts";
import { idsOldestFirst } from "./summaries.ts";

export interface CompactFlags {
  readonly all: boolean;
  /** Whether to take it back. */
  readonly expand: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** Whoever looks into a database with SQL would miss events without a word. */
const SQL_NOTE =
  "compacted events are not in the view session_events, which SQL reads, until `holdfast sessions compact --expand`";

/** After such an error no other session can be written either. */
const FATAL = new Set(["storage-full", "closed"]);

/** `holdfast sessions compact`: makes sessions small, one after the other, and says how small they are then. */
export async function compact(
  raw: RawOptions,
  args: readonly string[],
  flags: CompactFlags,
): Promise<number> {
  const { name, ids } = storeAndIds(raw, args);
  if (flags.all === ids.length > 0) {
    throw new UsageError(
      flags.all ? "--all and sessions that are named cannot go together" : "No session is named",
      "Name some, or say --all. `holdfast sessions compact --help` tells more.",
    );
  }
  using stop = new StopSignals();
  const run = (output: Output) => new CompactCommand(name, ids, flags, stop.signal, output).run();
  const code = await (flags.dryRun ? printing(run) : printingOn(run));
  return stop.code ?? code;
}

interface Wanted {
  readonly ids: readonly string[];
  /** What was named and is not there. */
  readonly missing: readonly string[];
}

/** How the work ended. */
interface Outcome {
  /** What the store takes; absent where the work ended before its end. */
  readonly sizes?: StoreSizes;
  /** Why space could not be given back. */
  readonly fault?: unknown;
}

class CompactCommand {
  readonly #name: StoreName;
  readonly #given: readonly string[];
  readonly #flags: CompactFlags;
  readonly #signal: AbortSignal;
  readonly #output: Output;
  /** Of all sessions, how many were deleted before their turn came. */
  #gone = 0;

  constructor(
    name: StoreName,
    given: readonly string[],
    flags: CompactFlags,
    signal: AbortSignal,
    output: Output,
  ) {
    this.#name = name;
    this.#given = given;
    this.#flags = flags;
    this.#signal = signal;
    this.#output = output;
  }

  async run(): Promise<number> {
    const { ids, missing } = await this.#wanted();
    const reports: CompactReport[] = [];
    const { sizes, fault } = await this.#compactAll(ids, missing, reports);
    const { dryRun } = this.#flags;
    const notTried = ids.length - reports.length - this.#gone;
    const summary = { reports, notTried, sizes, dryRun };
    await this.#print(summaryText(summary), summaryJson(summary));
    const isHidden = !dryRun && reports.some(({ state }) => state === "compacted");
    if (isHidden && this.#name.kind === "sqlite") process.stderr.write(`holdfast: ${SQL_NOTE}\n`);
    if (this.#signal.aborted)
      process.stderr.write(
        `holdfast: stopped; ${notTried} of ${ids.length} sessions are left as they were\n`,
      );
    tellGone(this.#gone);
    tellMissing(missing.length, this.#name);
    if (fault !== undefined) throw fault;
    for (const report of reports) {
      if (report.state === "refused" || report.state === "failed") return exitCodeFor(report.error.code);
    }
    return missing.length === 0 ? EXIT.ok : EXIT.notFound;
  }

  /**
   * Looked up before the store is locked: afterwards this process must not open its files in another way. Whoever held
   * it meanwhile may have made more sessions: then it is held still, or these are left for the next time.
   */
  async #wanted(): Promise<Wanted> {
    await using store = await openStoreReadOnly(this.#name, { clock: Date.now });
    if (this.#flags.all) return { ids: await idsOldestFirst(store), missing: [] };
    const ids = new Set<string>();
    const missing: string[] = [];
    for (const given of this.#given) {
      const id = await this.#resolve(store, given);
      if (id === undefined) missing.push(given);
      else ids.add(id);
    }
    return { ids: [...ids], missing };
  }

  async #resolve(store: SessionPersistence, given: string): Promise<string | undefined> {
    try {
      return await resolveSessionId(store, given, {
        ...this.#name,
        path: resolveStorePath(this.#name.path),
      });
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** Opens the store in any case: also one without sessions may be held by a Host. */
  async #compactAll(
    ids: readonly string[],
    missing: readonly string[],
    reports: CompactReport[],
  ): Promise<Outcome> {
    const { dryRun } = this.#flags;
    await using compactor = await openCompactor(this.#name, { dryRun }).catch((error: unknown) => {
      throw this.#withRoom(error);
    });
    for (const id of missing)
      await this.#print(`${printableLine(`missing ${id}`)}\n`, { kind: "missing", id });
    if (ids.length === 0) return {};
    using progress = new Progress();
    for (const [k, id] of ids.entries()) {
      if (this.#signal.aborted) return {};
      const place = `${k + 1} of ${ids.length}: ${id}`;
      progress.show(place);
      const report = await this.#one(compactor, id, (share) =>
        progress.show(`${place}, ${Math.floor(100 * share)}%`),
      );
      if (report === undefined) return {};
      if (this.#flags.all && report.state === "failed" && isGone(report.error)) {
        this.#gone += 1;
        continue;
      }
      reports.push(report);
      progress.clear();
      await this.#print(reportText(report, dryRun), reportJson(report));
      if (report.state === "failed" && FATAL.has(report.error.code)) return {};
    }
    if (!dryRun) progress.show("giving space back");
    try {
      return { sizes: await compactor.finish() };
    } catch (error) {
      // What was done before is told all the same.
      return { fault: this.#withRoom(error) };
    }
  }

  /** Nothing where it was told to stop. */
  async #one(
    compactor: StoreCompactor,
    id: string,
    onProgress: (share: number) => void,
  ): Promise<CompactReport | undefined> {
    const options = { signal: this.#signal, onProgress };
    try {
      return await (this.#flags.expand ? compactor.expand(id, options) : compactor.compact(id, options));
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      if (!(error instanceof HoldfastError)) throw error;
      return { id, state: "failed", error: this.#withRoom(error) };
    }
  }

  /** An error with a hint that says how much room there must be, where that is what was missing. */
  #withRoom<E>(error: E): E | StorageFullError {
    if (!(error instanceof StorageFullError)) return error;
    const room =
      this.#name.kind === "sqlite" ? "up to twice what the database takes" : "what the largest log takes";
    const hint = `Free some space, and give the same command again: it needs ${room} beside the store.`;
    return new StorageFullError(error.place, error.cause, error.message, hint);
  }

  /** What was done is told at once, whatever comes then. */
  async #print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#flags.json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}
