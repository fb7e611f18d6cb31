import { type DecodedRecord, decodeRecord } from "../../../src/session/records.ts";
import type * as Seam from "../../../src/store/backend.ts";
import { PassThrough } from "../pass-through.ts";
import { type BrokenBackend, broken, brokenAboveDisk } from "./broken.ts";

type Suffix = Promise<readonly DecodedRecord[] | undefined>;

const EVERYTHING = 1_000_000;

class ShowsEarly extends PassThrough {
  readonly #pending = new Map<string, readonly DecodedRecord[]>();

  override async appendBatch(batches: readonly Seam.AppendBatch[]): Promise<readonly Seam.AppendOutcome[]> {
    for (const { id, records } of batches) {
      this.#pending.set(
        id,
        records.map(({ text }) => decodeRecord(text, {})),
      );
    }
    try {
      return await super.appendBatch(batches);
    } finally {
      for (const { id } of batches) this.#pending.delete(id);
    }
  }

  override async readSuffix(id: string, fromSeq: number, limit: number): Suffix {
    const stored = await super.readSuffix(id, fromSeq, limit);
    return [...(stored ?? []), ...(this.#pending.get(id) ?? [])].slice(0, limit);
  }
}

class MarksReads extends PassThrough {
  #reads = 0;

  override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    this.#reads += 1;
    return super.readStored(id);
  }

  override async readRevision(id: string): Promise<Seam.Revision | undefined> {
    const revision = await super.readRevision(id);
    return revision === undefined ? undefined : `${revision}, read ${this.#reads} times`;
  }

  override async listSnapshots(request: Seam.PageRequest): Promise<Seam.Page<Seam.SnapshotSummary>> {
    const page = await super.listSnapshots(request);
    const items = page.items.map(({ id, revision }) => ({
      id,
      revision: `${revision}, read ${this.#reads} times`,
    }));
    return { ...page, items };
  }
}

class RepairsOnReading extends PassThrough {
  override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    const [last] = ((await super.readSuffix(id, 0, EVERYTHING)) ?? []).slice(-1);
    if (last?.record.type === "turn/start") {
      const { seq, time } = last.record;
      const end = {
        type: "turn/end",
        seq: seq + 1,
        time,
        data: { turn: 1, reason: { kind: "interrupted" } },
      };
      const { record } = decodeRecord(JSON.stringify(end), {});
      await super.commitRepair(id, { expectedSeq: seq + 1, records: [record] });
    }
    return super.readStored(id);
  }
}

class MakesByAsking extends PassThrough {
  override async readRevision(id: string): Promise<Seam.Revision | undefined> {
    const header = JSON.stringify({ version: 0, id, createdAt: 0 });
    await super.appendBatch([{ id, header, expectedSeq: 0, records: [] }]);
    return super.readRevision(id);
  }
}

/** Gives parts of a log out in another way. */
function reading(suffix: (inner: Seam.StorageBackend, id: string, from: number, limit: number) => Suffix) {
  return (inner: Seam.StorageBackend) =>
    new (class extends PassThrough {
      override readSuffix(id: string, fromSeq: number, limit: number): Suffix {
        return suffix(inner, id, fromSeq, limit);
      }
    })(inner);
}

class SortsByTime extends PassThrough {
  override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
    const stored = await super.readStored(id);
    if (stored === undefined) return undefined;
    const pages = (async function* () {
      for await (const page of stored.pages) yield page.toSorted((a, b) => a.record.time - b.record.time);
    })();
    return { ...stored, pages };
  }
}

/** Gives every session another revision, or the same. */
function revising(revise: (revision: Seam.Revision) => Seam.Revision) {
  return (inner: Seam.StorageBackend) =>
    new (class extends PassThrough {
      override async readStored(id: string): Promise<Seam.StoredSession | undefined> {
        const stored = await super.readStored(id);
        return stored === undefined ? undefined : { ...stored, revision: revise(stored.revision) };
      }

      override async readRevision(id: string): Promise<Seam.Revision | undefined> {
        const revision = await super.readRevision(id);
        return revision === undefined ? undefined : revise(revision);
      }

      override async appendBatch(batches: readonly Seam.AppendBatch[]) {
        const outcomes = await super.appendBatch(batches);
        return outcomes.map((one) => (one.ok ? { ...one, revision: revise(one.revision) } : one));
      }

      override async commitRepair(id: string, repair: Seam.Repair): Promise<Seam.Revision> {
        return revise(await super.commitRepair(id, repair));
      }

      override async listSnapshots(request: Seam.PageRequest): Promise<Seam.Page<Seam.SnapshotSummary>> {
        const page = await super.listSnapshots(request);
        return { ...page, items: page.items.map(({ id, revision }) => ({ id, revision: revise(revision) })) };
      }
    })(inner);
}

const HOOKS = "the hooks themselves (needs faults)";
const EVERY_SEQ = "every seq, also inside packed runs, at the end and beyond it";
const EVERY_LIMIT = "every limit from every seq";
const SUFFIX =
  "readSuffix begins with the record that holds the seq, and gives as many records as it is asked for";
const REVISION = "the revision stays while nothing changes, and changes with every append";

export const BROKEN_READING: readonly BrokenBackend[] = [
  brokenAboveDisk("shows events before they are committed", (inner) => new ShowsEarly(inner), [
    [
      "commit before visible (needs faults)",
      "while a commit is on its way, its events show nowhere; afterwards they show everywhere, once",
    ],
  ]),
  broken("counts an inspection as a change", (inner) => new MarksReads(inner), [
    ["inspecting", REVISION],
    [HOOKS, "reading changes nothing, however often"],
  ]),
  broken("closes an open Turn when it is inspected", (inner) => new RepairsOnReading(inner), [
    [
      "an interrupted Turn",
      "after the Turn began is closed: in memory by inspect, in the store once by load and prepare",
    ],
  ]),
  broken("makes a session by asking for it", (inner) => new MakesByAsking(inner), [
    [HOOKS, "of a session that is not there nothing is read, and nothing comes to be by asking"],
    ["create and append", "two creations of one id at once: one of them wins"],
  ]),
  broken(
    "reads a part from the beginning of the log",
    reading((inner, id, _, limit) => inner.readSuffix(id, 0, limit)),
    [["reading from a seq", EVERY_LIMIT]],
  ),
  broken(
    "reads all that follows, whatever the limit",
    reading((inner, id, from) => inner.readSuffix(id, from, EVERYTHING)),
    [[HOOKS, SUFFIX]],
  ),
  broken(
    "takes the limit for a number of events",
    reading(async (inner, id, from, limit) => {
      let events = 0;
      const suffix = await inner.readSuffix(id, from, limit);
      return suffix?.filter(({ record: { count } }) => {
        events += count;
        return events - count < limit;
      });
    }),
    [["reading from a seq", EVERY_LIMIT]],
  ),
  broken(
    "reads from the record after the one that holds the seq",
    reading(async (inner, id, from, limit) => {
      const suffix = await inner.readSuffix(id, from, limit);
      return suffix?.filter(({ record }) => record.seq >= from);
    }),
    [["reading from a seq", EVERY_SEQ]],
  ),
  broken("reads in the order of time", (inner) => new SortsByTime(inner), [
    ["create and append", "time may stand still or run backwards: order is seq"],
  ]),
  broken(
    "has one revision for ever",
    revising(() => "1"),
    [["inspecting", REVISION]],
  ),
  broken(
    "has revisions that a later session of the same id has again",
    revising((revision) => revision.slice(revision.indexOf("."))),
    [
      [
        "deleting",
        "the same id can be created again: it begins anew, and under another revision even with the same content",
      ],
    ],
  ),
];
