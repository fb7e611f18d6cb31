import type { StoreExaminer } from "./examiner.ts";
import type { RepairOptions, RepairPlan, StoreRepairer } from "./repairer.ts";
import type { StoreName } from "./store-name.ts";

/* Opens what looks for damage, and what repairs it. Each backend's code is loaded when it is asked for. */

export interface ExamineOptions {
  /**
   * Whether to look for records beyond what the storage itself still leads to: in pages that no table reaches, say. For
   * those who want all that is left, not for those who want to know whether a store is sound.
   */
  readonly deep?: boolean;
}

/**
 * A store opened for a check. Takes no lock, and may be used while another process writes the store.
 * @throws StoreNotFoundError, UnsupportedFormatError where it is no store, StorageFailedError where it may not be read
 */
export async function openExaminer(name: StoreName, options: ExamineOptions = {}): Promise<StoreExaminer> {
  if (name.kind === "sqlite") {
    const { examineSqlite } = await import("./sqlite/examine.ts");
    return examineSqlite(name.path, options);
  }
  const { examineJsonl } = await import("./jsonl/examine.ts");
  return examineJsonl(name.path);
}

/**
 * A store opened for repair, with its lock.
 * @throws StoreNotFoundError, LockedError, UnsupportedFormatError, StorageFailedError
 */
export async function openRepairer(name: StoreName): Promise<StoreRepairer> {
  if (name.kind === "sqlite") {
    const { repairSqlite } = await import("./sqlite/repairer.ts");
    return repairSqlite(name.path);
  }
  const { repairJsonl } = await import("./jsonl/repairer.ts");
  return repairJsonl(name.path);
}

/** What {@link openRepairer} would do, without its lock. Reads only. */
export async function planRepair(name: StoreName, options: RepairOptions = {}): Promise<RepairPlan> {
  if (name.kind === "sqlite") {
    const { planSqliteRepair } = await import("./sqlite/repairer.ts");
    return planSqliteRepair(name.path, options);
  }
  const { planJsonlRepair } = await import("./jsonl/repairer.ts");
  return planJsonlRepair(name.path, options);
}
