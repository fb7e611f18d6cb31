import { describe } from "bun:test";
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
import { listing } from "./listing.ts";
import { ordering } from "./ordering.ts";
import { properties } from "./properties.ts";
import { reading } from "./reading.ts";
import { recovery } from "./recovery.ts";
import { reservations } from "./reservations.ts";
import type { Capabilities, PersistenceFactory } from "./rig.ts";
import { validation } from "./validation.ts";
import { visibility } from "./visibility.ts";

export type { Capabilities, OpenOptions, PersistenceFactory } from "./rig.ts";

const PARTS = [
  createAndAppend,
  ordering,
  validation,
  visibility,
  failures,
  groupCommit,
  chunkWindow,
  boundedQueue,
  reading,
  recovery,
  reservations,
  foreignLogs,
  listing,
  deletion,
  concurrency,
  cancelling,
  closing,
];

/**
 * The rules of SessionPersistence as tests for `bun test`: call it in a test file of a backend. Memory and SQLite pass
 * the same cases; what a backend cannot do by nature is said in `capabilities`, and its cases are shown as skipped.
 */
export function runPersistenceContract(
  name: string,
  factory: PersistenceFactory,
  capabilities: Capabilities,
  options: { /** Random sessions that are tried; 40 when absent. */ readonly runs?: number } = {},
): void {
  const contract = makeContract(factory, capabilities);
  describe(`persistence contract: ${name}`, () => {
    for (const part of PARTS) part(contract);
    properties(contract, options.runs ?? 40);
  });
}
