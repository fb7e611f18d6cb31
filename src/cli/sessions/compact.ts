import { storeAndIds } from "../../host/store-options.ts";
import { type RawOptions, UsageError } from "../../host/usage.ts";
import type { StoreCompactor, StoreSizes } from "../../store/compactor.ts";
import { HoldfastError, NotFoundError } from "../../store/errors.ts";
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
import { resolveSessionId } from "./session-id.ts";
import { summaries } from "./summaries.ts";

export interface CompactFlags {
  readonly all: boolean;
  /** Whether to take it back. */
  readonly expand: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

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

class CompactCommand {
  readonly #name: StoreName;
  readonly #given: readonly string[];
  readonly #flags: CompactFlags;
  readonly #signal: AbortSignal;
  readonly #output: Output;

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
    for (const id of missing) {
      await this.#print(`${printableLine(`missing ${id}`)}\n`, { kind: "missing", id });
    }
    const { dryRun } = this.#flags;
    const reports: CompactReport[] = [];
    const sizes = ids.length === 0 ? undefined : await this.#compactAll(ids, reports);
    await this.#print(summaryText(reports, sizes, dryRun), summaryJson(reports, sizes, dryRun));
    if (this.#signal.aborted) {
      const left = ids.length - reports.length;
      process.stderr.write(`holdfast: stopped; ${left} of ${ids.length} sessions are left as they were\n`);
    }
    for (const report of reports) {
      if (report.state === "refused" || report.state === "failed") return exitCodeFor(report.error.code);
    }
    return missing.length === 0 ? EXIT.ok : EXIT.notFound;
  }

  /** Looked up before the store is locked: afterwards this process must not open its files in another way. */
  async #wanted(): Promise<Wanted> {
    await using store = await openStoreReadOnly(this.#name, { clock: Date.now });
    const ids = new Set<string>();
    if (this.#flags.all) {
      // Where several files claim an id, that is said once.
      for await (const { id } of summaries(store)) ids.add(id);
      return { ids: [...ids], missing: [] };
    }
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
      return await resolveSessionId(store, given, resolveStorePath(this.#name.path));
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** Returns what the store takes, unless it was told to stop before the end. */
  async #compactAll(ids: readonly string[], reports: CompactReport[]): Promise<StoreSizes | undefined> {
    const { dryRun } = this.#flags;
    await using compactor = await openCompactor(this.#name, { dryRun });
    using progress = new Progress();
    for (const [k, id] of ids.entries()) {
      if (this.#signal.aborted) return undefined;
      const place = `${k + 1} of ${ids.length}: ${id}`;
      progress.show(place);
      const report = await this.#one(compactor, id, (share) =>
        progress.show(`${place}, ${Math.floor(100 * share)}%`),
      );
      if (report === undefined) return undefined;
      reports.push(report);
      progress.clear();
      await this.#print(reportText(report, dryRun), reportJson(report));
      if (report.state === "failed" && FATAL.has(report.error.code)) break;
    }
    if (!dryRun) progress.show("giving space back");
    return await compactor.finish();
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
      return { id, state: "failed", error };
    }
  }

  /** What was done is told at once, whatever comes then. */
  async #print(text: string, json: object): Promise<void> {
    await this.#output.write(this.#flags.json ? `${jsonText(json)}\n` : text);
    await this.#output.flush();
  }
}
