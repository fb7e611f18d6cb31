import type * as Seam from "../../../src/store/backend.ts";
import { SequenceConflictError } from "../../../src/store/errors.ts";
import { PassThrough } from "../pass-through.ts";
import { type BrokenBackend, broken, brokenAboveDisk } from "./broken.ts";

type Batches = readonly Seam.AppendBatch[];
type Outcomes = Promise<readonly Seam.AppendOutcome[]>;

/** Changes batches on their way to a sound backend. */
function changing(change: (batch: Seam.AppendBatch) => Seam.AppendBatch) {
  return (inner: Seam.StorageBackend) =>
    new (class extends PassThrough {
      override appendBatch(batches: Batches): Outcomes {
        return super.appendBatch(batches.map(change));
      }
    })(inner);
}

class AcceptsGaps extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    const outcomes = await super.appendBatch(batches);
    const retried = batches.map(async (batch, k): Promise<Seam.AppendOutcome> => {
      const outcome = outcomes[k] ?? { ok: true, revision: "" };
      if (outcome.ok || !(outcome.error instanceof SequenceConflictError)) return outcome;
      const [again] = await super.appendBatch([{ ...batch, expectedSeq: outcome.error.next }]);
      return again ?? outcome;
    });
    return Promise.all(retried);
  }
}

class AcknowledgesEarly extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    super.appendBatch(batches).catch(() => undefined);
    return batches.map(({ expectedSeq }) => ({ ok: true, revision: `early ${expectedSeq}` }));
  }
}

class SplitsBatches extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    const firsts = batches.map((batch) => ({ ...batch, records: batch.records.slice(0, 1) }));
    const outcomes = await super.appendBatch(firsts);
    const rests = batches.flatMap(({ id, records: [first, ...rest] }) => {
      if (first === undefined || rest.length === 0) return [];
      return [{ id, expectedSeq: first.seq + first.count, records: rest }];
    });
    if (rests.length === 0) return outcomes;
    await new Promise((resolve) => setImmediate(resolve));
    await super.appendBatch(rests);
    return Promise.all(
      batches.map(async ({ id }) => ({ ok: true, revision: (await this.readRevision(id)) ?? "" })),
    );
  }
}

class FailsTogether extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    const outcomes = await super.appendBatch(batches);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    return outcomes;
  }
}

class StoresFirstOnly extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    const [first = { ok: true, revision: "" }] = await super.appendBatch(batches.slice(0, 1));
    return batches.map(() => first);
  }
}

class MixesOutcomes extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    return (await super.appendBatch(batches)).toReversed();
  }
}

class WritesOverSessions extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    for (const { id, header } of batches) if (header !== undefined) await this.delete(id);
    return super.appendBatch(batches);
  }
}

class MakesSessionsOfNothing extends PassThrough {
  override async appendBatch(batches: Batches): Outcomes {
    const made = batches.map(async (batch) => {
      const isThere = (await this.readRevision(batch.id)) !== undefined;
      const header = JSON.stringify({ version: 0, id: batch.id, createdAt: 0 });
      return isThere || batch.expectedSeq > 0 ? batch : { header, ...batch };
    });
    return super.appendBatch(await Promise.all(made));
  }
}

class RepairsTwice extends PassThrough {
  override async commitRepair(id: string, repair: Seam.Repair): Promise<Seam.Revision> {
    await super.commitRepair(id, repair);
    const last = repair.records.at(-1);
    const expectedSeq = last === undefined ? repair.expectedSeq : last.seq + last.count;
    return super.commitRepair(id, { ...repair, expectedSeq });
  }
}

class RepairsAnywhere extends PassThrough {
  override async commitRepair(id: string, repair: Seam.Repair): Promise<Seam.Revision> {
    try {
      return await super.commitRepair(id, repair);
    } catch (error) {
      if (!(error instanceof SequenceConflictError)) throw error;
      return super.commitRepair(id, { ...repair, expectedSeq: error.next });
    }
  }
}

class ForgetsDeletions extends PassThrough {
  override async delete(id: string): Promise<boolean> {
    return (await this.readRevision(id)) !== undefined;
  }
}

class DeletesByPrefix extends PassThrough {
  override async delete(id: string): Promise<boolean> {
    const { items } = await this.list({ limit: 1_000 });
    for (const item of items) if (item.id !== id && item.id.startsWith(id)) await super.delete(item.id);
    return super.delete(id);
  }
}

const HOOKS = "the hooks themselves (needs faults)";
const FAILURES = "failed commits (needs faults)";
const ONE_OUTCOME =
  "one outcome a batch, in their order: what does not fit is refused alone, and leaves nothing";
const SEVERAL_WRITERS = "another writer behind the store's back makes a conflict for that session alone";
const BYTE_FOR_BYTE =
  "texts of any writer stay byte for byte, also under a header with members that nobody here knows";

export const BROKEN_WRITING: readonly BrokenBackend[] = [
  broken(
    "loses the last event of a batch",
    changing((batch) => {
      const { records } = batch;
      return records.length > 1 ? { ...batch, records: records.slice(0, -1) } : batch;
    }),
    [["batches", "cut anywhere, they give the same events"]],
  ),
  broken(
    "takes no more than 1,000 records of a batch",
    changing((batch) => ({ ...batch, records: batch.records.slice(0, 1_000) })),
    [["batches", "3,000 events in one batch, and a batch of 1 behind it"]],
  ),
  broken(
    "cuts events of more than 1 MB",
    changing((batch) => ({
      ...batch,
      records: batch.records.map((record) =>
        record.text.length > 1_000_000 ? { ...record, text: `${record.text.slice(0, 999_000)}"}}` } : record,
      ),
    })),
    [["batches", "one event of 2 MB is one event"]],
  ),
  broken(
    "reorders a batch",
    changing((batch) => {
      const [first, second, ...rest] = batch.records;
      if (first === undefined || second === undefined || rest.length === 0) return batch;
      return { ...batch, records: [second, first, ...rest] };
    }),
    [["batches", "cut anywhere, they give the same events"]],
  ),
  broken(
    "writes texts again from their values",
    changing((batch) => ({
      ...batch,
      records: batch.records.map((record) => ({ ...record, text: JSON.stringify(JSON.parse(record.text)) })),
    })),
    [
      ["importing", BYTE_FOR_BYTE],
      [
        "logs of other writers (needs faults)",
        "texts are kept byte for byte: large integers, key order, escapes, unknown keys",
      ],
    ],
  ),
  broken(
    "keeps only what it knows of a header",
    changing(({ header, ...batch }) => {
      if (header === undefined) return batch;
      const { version, id, createdAt } = JSON.parse(header);
      return { ...batch, header: JSON.stringify({ version, id, createdAt, delegationDepth: 0 }) };
    }),
    [
      ["headers", "a header comes back as it was given, whatever members it has"],
      ["importing", BYTE_FOR_BYTE],
    ],
  ),
  broken("accepts a gap", (inner) => new AcceptsGaps(inner), [
    [HOOKS, ONE_OUTCOME],
    [FAILURES, SEVERAL_WRITERS],
    ["importing", "a gap: a conflict, and nothing changes"],
  ]),
  brokenAboveDisk("acknowledges before it is durable", (inner) => new AcknowledgesEarly(inner), [
    [
      FAILURES,
      "a failed commit never shows, takes what is queued behind it along, and the next append leaves no gap",
    ],
  ]),
  brokenAboveDisk("leaves a part of a batch after a failure", (inner) => new SplitsBatches(inner), [
    [FAILURES, "whichever write below it fails, what is appended together is there whole or not at all"],
    ["whole commits", "a reader never sees a part of what is appended together"],
  ]),
  broken("fails a whole commit for one conflict", (inner) => new FailsTogether(inner), [
    [HOOKS, ONE_OUTCOME],
    [FAILURES, SEVERAL_WRITERS],
  ]),
  broken("stores the first session of a commit only", (inner) => new StoresFirstOnly(inner), [
    ["concurrency", "interleaved appends over many sessions keep the order of each"],
  ]),
  broken("gives outcomes in another order", (inner) => new MixesOutcomes(inner), [[HOOKS, ONE_OUTCOME]]),
  broken("writes over a session of the same id", (inner) => new WritesOverSessions(inner), [
    [HOOKS, ONE_OUTCOME],
    [FAILURES, "a lost answer to the very first commit does not make a second session"],
  ]),
  broken("appends to a session that is not there", (inner) => new MakesSessionsOfNothing(inner), [
    [HOOKS, ONE_OUTCOME],
  ]),
  broken("writes a repair twice", (inner) => new RepairsTwice(inner), [
    [
      "an interrupted Turn",
      "after the Turn began is closed: in memory by inspect, in the store once by load and prepare",
    ],
  ]),
  broken("repairs what is repaired already", (inner) => new RepairsAnywhere(inner), [
    [HOOKS, "a repair goes where it says or nowhere, so that no second one repairs again"],
  ]),
  broken("forgets a deletion", (inner) => new ForgetsDeletions(inner), [
    ["deleting", "a deleted session is gone for every reader, also after a restart; others stay"],
  ]),
  broken(
    "deletes sessions whose ids begin like the one that it shall",
    (inner) => new DeletesByPrefix(inner),
    [["ids", "what is done to one id is done to no other that looks like it"]],
  ),
];
