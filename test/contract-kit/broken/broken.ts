import { statSync, truncateSync } from "node:fs";
import type { StorageBackend } from "../../../src/store/backend.ts";
import { PersistenceCoordinator } from "../../../src/store/coordinator.ts";
import { MemoryBackend } from "../../../src/store/memory/backend.ts";
import type { Capabilities, PersistenceFactory, Tear } from "../../contract/index.ts";
import { ExampleBackend } from "../example-backend.ts";

/** A backend that breaks one rule, and the cases that must say so. */
export interface BrokenBackend {
  /** What it does wrong. */
  readonly fault: string;
  readonly factory: PersistenceFactory;
  readonly capabilities: Capabilities;
  readonly tear?: Tear;
  /** Group and name of each case that fails. */
  readonly caughtBy: ReadonlyArray<readonly [group: string, name: string]>;
}

export type Wrap = (inner: StorageBackend, place: string) => StorageBackend;
type CaughtBy = BrokenBackend["caughtBy"];

const VOLATILE: Capabilities = { durable: false, crossProcessLock: false, faults: true };
const DURABLE: Capabilities = { durable: true, crossProcessLock: true, faults: true };

/** A sound backend in memory below a layer that is broken; the suite holds and fails calls between the shared code and both. */
export function broken(fault: string, wrap: Wrap, caughtBy: CaughtBy): BrokenBackend {
  const factory: PersistenceFactory = async ({ place, decorate, ...options }) =>
    new PersistenceCoordinator(decorate(wrap(new MemoryBackend(), place)), options);
  return { fault, factory, capabilities: VOLATILE, caughtBy };
}

/** The same, but the suite holds and fails the calls that the broken layer makes to its disk. */
export function brokenAboveDisk(fault: string, wrap: Wrap, caughtBy: CaughtBy): BrokenBackend {
  const factory: PersistenceFactory = async ({ place, decorate, ...options }) =>
    new PersistenceCoordinator(wrap(decorate(new MemoryBackend()), place), options);
  return { fault, factory, capabilities: VOLATILE, caughtBy };
}

/** A broken layer over the example backend, which is durable and can be torn. */
export function brokenDurable(fault: string, wrap: Wrap, caughtBy: CaughtBy): BrokenBackend {
  const factory: PersistenceFactory = async ({ place, decorate, ...options }) =>
    new PersistenceCoordinator(decorate(wrap(new ExampleBackend(place), place)), options);
  return { fault, factory, capabilities: DURABLE, tear: tearExample, caughtBy };
}

/** Cuts the last line of the file short. */
export async function tearExample(place: string, id: string): Promise<void> {
  const backend = new ExampleBackend(place);
  const file = backend.locate({ id });
  await backend.close();
  truncateSync(file, statSync(file).size - 20);
}
