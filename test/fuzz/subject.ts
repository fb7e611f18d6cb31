import { openExaminer, openRepairer, planRepair } from "../../src/store/open-examiner.ts";
import { openStore, openStoreReadOnly } from "../../src/store/open-store.ts";
import { salvageSession } from "../../src/store/salvage.ts";
import { openSalvageSource } from "../../src/store/salvage-source.ts";

/** What is checked: the ways into a store. A parameter, so that it can be told whether a check sees what is wrong. */
export const HOLDFAST = {
  openStore,
  openStoreReadOnly,
  openExaminer,
  openRepairer,
  planRepair,
  openSalvageSource,
  salvageSession,
} as const;

export type Subject = typeof HOLDFAST;
