import { afterAll, describe } from "bun:test";
import { batches } from "./batches.ts";
import { boundedQueue } from "./bounded-queue.ts";
import { cancelling } from "./cancelling.ts";
import { chunkWindow } from "./chunk-window.ts";
import { closing } from "./closing.ts";
import { concurrency } from "./concurrency.ts";
import { makeContract } from "./contract.ts";
import { createAndAppend } from "./create-and-append.ts";
import { deletion } from "./deletion.ts";
import { failures } from "./failures.ts";
import { foreignLogs } from "./foreign-logs.ts";
import { groupCommit } from "./group-commit.ts";
import { headers } from "./headers.ts";
import { hooks } from "./hooks.ts";
import { ids } from "./ids.ts";
import { importing } from "./importing.ts";
import { listing } from "./listing.ts";
import { ordering } from "./ordering.ts";
import { properties } from "./properties.ts";
import { reading } from "./reading.ts";
import { recovery } from "./recovery.ts";
import { reservations } from "./reservations.ts";
import type { Capabilities, PersistenceFactory, Tear } from "./rig.ts";
import { streaming } from "./streaming.ts";
import { Tally } from "./tally.ts";
import { torn } from "./torn.ts";
import { validation } from "./validation.ts";
import { visibility } from "./visibility.ts";

export type { Capabilities, OpenOptions, PersistenceFactory, Tear } from "./rig.ts";

const PARTS = [
  createAndAppend,
  ids,
  headers,
  batches,
  ordering,
  validation,
  visibility,
  failures,
  groupCommit,
  chunkWindow,
  boundedQueue,
  reading,
  recovery,
  torn,
  reservations,
  foreignLogs,
  streaming,
  importing,
  listing,
  deletion,
  concurrency,
  cancelling,
  closing,
  hooks,
];

export interface ContractOptions {
  /** Random sessions that are tried; 40 when absent. */
  readonly runs?: number;
  /** How a last record is torn, for backends where a crash can do that. Its cases are skipped where it is absent. */
  readonly tear?: Tear;
}

/**
 * The rules of SessionPersistence as tests for `bun test`: call it in a test file of a backend. All backends pass the
 * same cases; what a backend cannot do by nature is said in `capabilities`, and its cases are shown as skipped. At the
 * end, a line for each capability says on stderr what became of its cases. See docs/backends.md.
 */
export function runPersistenceContract(
  name: string,
  factory: PersistenceFactory,
  capabilities: Capabilities,
  { runs = 40, tear }: ContractOptions = {},
): void {
  const tally = new Tally();
  const contract = makeContract({ factory, capabilities, tear }, tally);
  describe(`persistence contract: ${name}`, () => {
    afterAll(() => {
      process.stderr.write(tally.report(name, capabilities, tear !== undefined));
    });
    for (const part of PARTS) part(contract);
    properties(contract, runs);
  });
}
