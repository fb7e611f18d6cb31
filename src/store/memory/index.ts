import { type CoordinatorOptions, PersistenceCoordinator } from "../coordinator.ts";
import type { SessionPersistence } from "../persistence.ts";
import { MemoryBackend } from "./backend.ts";

/** A store that lasts as long as the process: the reference for the contract, and what runs when no path is given. */
export function openMemory(options: CoordinatorOptions): SessionPersistence {
  return new PersistenceCoordinator(new MemoryBackend(), options);
}
