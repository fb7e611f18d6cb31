import type * as Seam from "../../../src/store/backend.ts";
import { PersistenceCoordinator } from "../../../src/store/coordinator.ts";
import { MemoryBackend } from "../../../src/store/memory/backend.ts";
import { PassThrough } from "../pass-through.ts";
import { type BrokenBackend, brokenDurable } from "./broken.ts";

type Batches = readonly Seam.AppendBatch[];

class WritesLate extends PassThrough {
  #late: Batches = [];

  /** Revisions and reads are of what is on the disk; only the acknowledgement comes a commit early. */
  override async appendBatch(batches: Batches): Promise<readonly Seam.AppendOutcome[]> {
    await super.appendBatch(this.#late);
    this.#late = batches;
    return batches.map(({ expectedSeq }) => ({ ok: true, revision: `late ${expectedSeq}` }));
  }
}

class BuriesUntilReopened extends PassThrough {
  readonly #buried = new Set<string>();

  override async delete(id: string): Promise<boolean> {
    if ((await this.readRevision(id)) === undefined) return false;
    this.#buried.add(id);
    return true;
  }

  override async readRevision(id: string) {
    return this.#buried.has(id) ? undefined : super.readRevision(id);
  }

  override async readStored(id: string) {
    return this.#buried.has(id) ? undefined : super.readStored(id);
  }

  override async readSuffix(id: string, fromSeq: number, limit: number) {
    return this.#buried.has(id) ? undefined : super.readSuffix(id, fromSeq, limit);
  }

  override async listSnapshots(request: Seam.PageRequest) {
    const page = await super.listSnapshots(request);
    return { ...page, items: page.items.filter(({ id }) => !this.#buried.has(id)) };
  }
}

class RevisesAnew extends PassThrough {
  readonly #opened = crypto.randomUUID();

  override async listSnapshots(request: Seam.PageRequest): Promise<Seam.Page<Seam.SnapshotSummary>> {
    const page = await super.listSnapshots(request);
    const items = page.items.map(({ id, revision }) => ({ id, revision: `${revision} ${this.#opened}` }));
    return { ...page, items };
  }
}

class KeepsItsLock extends PassThrough {
  override async close(): Promise<void> {
    // The store is left as it is.
  }
}

class HidesTornEnds extends PassThrough {
  override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    const stored = await super.readStored(id);
    return stored === undefined ? undefined : { ...stored, torn: () => undefined };
  }
}

class CutsTornEndsOnReading extends PassThrough {
  override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    const torn = (await super.readStored(id))?.torn();
    const last = (await super.readSuffix(id, 0, 1_000))?.at(-1)?.record;
    if (last !== undefined && torn !== undefined)
      await super.commitRepair(id, { torn, expectedSeq: last.seq + last.count, records: [] });
    return super.readStored(id);
  }
}

class ForgetsTornEnds extends PassThrough {
  override async commitRepair(id: string, repair: Seam.Repair): Promise<Seam.Revision> {
    if (repair.records.length > 0) return super.commitRepair(id, repair);
    return (await this.readRevision(id)) ?? "";
  }
}

class SetsAsideUnasked extends PassThrough {
  override async appendBatch(batches: Batches): Promise<readonly Seam.AppendOutcome[]> {
    for (const { id, expectedSeq } of batches) {
      const torn = (await this.readStored(id))?.torn();
      if (torn !== undefined) await this.commitRepair(id, { torn, expectedSeq, records: [] });
    }
    return super.appendBatch(batches);
  }
}

class MemoryThatStays extends MemoryBackend {
  override async close(): Promise<void> {
    // Another one may have it open.
  }
}

const shared = new Map<string, MemoryThatStays>();
const TORN = "a torn end (needs tear)";
const ONE_WRITER = "one writer (needs crossProcessLock)";
const FIRST_EVENT = "a session is listed with its first event";
const LOCKED = "a place is opened by one store at a time, and again once that one is closed";

export const BROKEN_DURABLE: readonly BrokenBackend[] = [
  {
    fault: "says that it is durable, and is not",
    factory: async ({ decorate, ...options }) =>
      new PersistenceCoordinator(decorate(new MemoryBackend()), options),
    capabilities: { durable: true, crossProcessLock: false, faults: true },
    caughtBy: [["create and append", FIRST_EVENT]],
  },
  {
    fault: "says that it locks its place, and does not",
    factory: async ({ place, decorate, ...options }) => {
      const backend = shared.get(place) ?? new MemoryThatStays();
      shared.set(place, backend);
      return new PersistenceCoordinator(decorate(backend), options);
    },
    capabilities: { durable: true, crossProcessLock: true, faults: true },
    caughtBy: [[ONE_WRITER, LOCKED]],
  },
  brokenDurable("keeps its lock when it is closed", (inner) => new KeepsItsLock(inner), [
    [ONE_WRITER, LOCKED],
  ]),
  brokenDurable("writes a commit with the next one", (inner) => new WritesLate(inner), [
    ["create and append", FIRST_EVENT],
  ]),
  brokenDurable(
    "has a deleted session again when it is reopened",
    (inner) => new BuriesUntilReopened(inner),
    [["deleting", "a deleted session is gone for every reader, also after a restart; others stay"]],
  ),
  brokenDurable("has other revisions when it is reopened", (inner) => new RevisesAnew(inner), [
    ["listing", "snapshots are equal while nothing changed, and differ for just the session that did"],
  ]),
  brokenDurable("does not tell of a torn end", (inner) => new HidesTornEnds(inner), [
    [TORN, "is no part of the log; whoever reads is told of it, and changes nothing"],
  ]),
  brokenDurable("cuts a torn end off when it is inspected", (inner) => new CutsTornEndsOnReading(inner), [
    [TORN, "is no part of the log; whoever reads is told of it, and changes nothing"],
  ]),
  brokenDurable("sets a torn end aside where nobody has seen it", (inner) => new SetsAsideUnasked(inner), [
    [TORN, "is never written behind: who appends without having read it is refused, and nothing changes"],
  ]),
  brokenDurable("forgets to set a torn end aside", (inner) => new ForgetsTornEnds(inner), [
    [TORN, "is set aside where nothing else is to be repaired, too"],
  ]),
];
