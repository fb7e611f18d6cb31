import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { decodeHeader, type SessionHeader } from "../../../src/session/header.ts";
import type { Session } from "../../../src/session/session.ts";
import type * as Seam from "../../../src/store/backend.ts";
import { PersistenceCoordinator } from "../../../src/store/coordinator.ts";
import { MemoryBackend } from "../../../src/store/memory/backend.ts";
import type { SessionSummary } from "../../../src/store/persistence.ts";
import { PassThrough } from "../pass-through.ts";
import { type BrokenBackend, broken } from "./broken.ts";

type Request = Seam.PageRequest;
interface Named {
  readonly id: string;
}

/** Pages both listings in another way. */
function paging(
  page: <T extends Named>(
    get: (request: Request) => Promise<Seam.Page<T>>,
    request: Request,
  ) => Promise<Seam.Page<T>>,
) {
  return (inner: Seam.StorageBackend) =>
    new (class extends PassThrough {
      override list(request: Request) {
        return page((one) => inner.list(one), request);
      }

      override listSnapshots(request: Request) {
        return page((one) => inner.listSnapshots(one), request);
      }
    })(inner);
}

/** Takes one id for another. */
function naming(rename: (id: string) => string) {
  return (inner: Seam.StorageBackend) =>
    new (class extends PassThrough {
      override readStored(id: string) {
        return super.readStored(rename(id));
      }

      override readRevision(id: string) {
        return super.readRevision(rename(id));
      }

      override readSuffix(id: string, fromSeq: number, limit: number) {
        return super.readSuffix(rename(id), fromSeq, limit);
      }

      override appendBatch(batches: readonly Seam.AppendBatch[]) {
        return super.appendBatch(batches.map((batch) => ({ ...batch, id: rename(batch.id) })));
      }

      override commitRepair(id: string, repair: Seam.Repair) {
        return super.commitRepair(rename(id), repair);
      }

      override delete(id: string) {
        return super.delete(rename(id));
      }
    })(inner);
}

class TakesIdsForPaths extends PassThrough {
  readonly #place: string;

  constructor(inner: Seam.StorageBackend, place: string) {
    super(inner);
    this.#place = place;
  }

  override appendBatch(batches: readonly Seam.AppendBatch[]) {
    for (const { id } of batches) {
      const path = join(this.#place, `${id}.jsonl`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "");
    }
    return super.appendBatch(batches);
  }
}

class HidesWhatItCannotRead extends PassThrough {
  override async list(request: Request): Promise<Seam.Page<Seam.StoredSummary>> {
    const page = await super.list(request);
    return { ...page, items: page.items.filter(({ headerText }) => isSound(headerText)) };
  }
}

class ListsAllOrNothing extends PassThrough {
  override async list(request: Request): Promise<Seam.Page<Seam.StoredSummary>> {
    const page = await super.list(request);
    for (const { headerText } of page.items) decodeHeader(headerText, {});
    return page;
  }
}

function isSound(headerText: string): boolean {
  try {
    decodeHeader(headerText, {});
    return true;
  } catch {
    return false;
  }
}

/** Lists what was only registered. */
class ListsRegistered extends PersistenceCoordinator {
  readonly #registered = new Map<string, SessionHeader>();

  override async create(header: SessionHeader): Promise<Session> {
    const session = await super.create(header);
    this.#registered.set(header.id, header);
    return session;
  }

  override async list(request: Request = {}): Promise<Seam.Page<SessionSummary>> {
    const page = await super.list(request);
    const isListed = (id: string) => page.items.some((item) => item.id === id);
    const empty = [...this.#registered].filter(([id]) => !isListed(id));
    return { ...page, items: [...page.items, ...empty.map(([id, header]) => ({ id, header }))] };
  }
}

const ANY_ID = "any id is an id of its own, and only that";
const PAGES = ["list", "listSnapshots"].map(
  (method) => ["listing", `${method}: pages hold each session once, whatever their size`] as const,
);
const MOVING = ["come", "go"].map(
  (what) => ["listing", `list: sessions that ${what} between two pages disturb no other`] as const,
);
const LACKS_A_MEMBER =
  "a header that lacks a member: the session is listed with the reason, can be deleted, and harms no other";
const EVERYTHING = 1_000_000;

export const BROKEN_LISTING: readonly BrokenBackend[] = [
  {
    fault: "lists sessions that were only registered",
    factory: async ({ decorate, ...options }) => new ListsRegistered(decorate(new MemoryBackend()), options),
    capabilities: { durable: false, crossProcessLock: false, faults: true },
    caughtBy: [
      [
        "create and append",
        "a session that was only created is not listed, cannot be read and leaves nothing",
      ],
    ],
  },
  broken(
    "begins a page with the last session of the page before",
    paging(async (get, { cursor, ...request }) => {
      if (cursor === undefined) return get(request);
      return get({ ...request, cursor: `${Number(cursor) + 1}` });
    }),
    PAGES,
  ),
  broken(
    "skips a session between two pages",
    paging(async (get, { cursor, ...request }) => {
      if (cursor === undefined) return get(request);
      return get({ ...request, cursor: `${Number(cursor) - 1}` });
    }),
    PAGES,
  ),
  broken(
    "pages by position",
    paging(async (get, { cursor = "0", limit = 100 }) => {
      const { items } = await get({ limit: EVERYTHING });
      const to = Number(cursor) + limit;
      const page = items.slice(Number(cursor), to);
      return { items: page, ...(to < items.length ? { nextCursor: `${to}` } : {}) };
    }),
    MOVING,
  ),
  broken(
    "pages by the session that it gave out last, and needs that one",
    paging(async (get, { cursor, limit = 100 }) => {
      const { items } = await get({ limit: EVERYTHING });
      const from = items.findIndex(({ id }) => id === cursor) + 1;
      const page = items.slice(from, from + limit);
      return { items: page, ...(from + limit < items.length ? { nextCursor: page.at(-1)?.id ?? "" } : {}) };
    }),
    MOVING.slice(1),
  ),
  broken(
    "gives all sessions on one page",
    paging((get) => get({ limit: EVERYTHING })),
    [...PAGES, ["listing", "list: a page without a limit is bounded"]],
  ),
  broken(
    "takes the halves of characters for one",
    naming((id) => id.toWellFormed()),
    [["ids", ANY_ID]],
  ),
  broken(
    "takes upper case for lower case",
    naming((id) => id.toLowerCase()),
    [["ids", ANY_ID]],
  ),
  broken(
    "takes one spelling of a character for another",
    naming((id) => id.normalize("NFC")),
    [["ids", ANY_ID]],
  ),
  broken(
    "cuts ids at a NUL",
    naming((id) => id.split("\u0000")[0] ?? ""),
    [["ids", ANY_ID]],
  ),
  broken("takes ids for paths", (inner, place) => new TakesIdsForPaths(inner, place), [
    ["ids", "no id leads out of the place of the store"],
  ]),
  broken("hides a session whose header it cannot read", (inner) => new HidesWhatItCannotRead(inner), [
    ["logs of other writers (needs faults)", LACKS_A_MEMBER],
  ]),
  broken("lists nothing where one header cannot be read", (inner) => new ListsAllOrNothing(inner), [
    ["logs of other writers (needs faults)", LACKS_A_MEMBER],
  ]),
];
