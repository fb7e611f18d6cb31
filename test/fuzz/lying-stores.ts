import { appendFileSync, utimesSync } from "node:fs";
import type { EventDraft } from "../../src/session/events.ts";
import type { DecodedRecord } from "../../src/session/records.ts";
import { CorruptError } from "../../src/store/errors.ts";
import type { ExaminedSession, StoreExaminer } from "../../src/store/examiner.ts";
import type { SessionPersistence } from "../../src/store/persistence.ts";
import type { StoreRepairer } from "../../src/store/repairer.ts";
import { HOLDFAST, type Subject } from "./subject.ts";

/* Stores that are wrong in one way each, to tell whether anybody sees it. */

type Page = readonly DecodedRecord[];

/** The same object with some of its methods replaced. */
export function overriding<T extends object>(target: T, overrides: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      const own: unknown = Reflect.get(overrides, key) ?? Reflect.get(target, key, target);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}

/** A subject of which the stores that are read are changed. */
export function reading(
  change: (store: SessionPersistence, path: string) => Partial<SessionPersistence>,
): Subject {
  return {
    ...HOLDFAST,
    openStoreReadOnly: async (name, options) => {
      const store = await HOLDFAST.openStoreReadOnly(name, options);
      return overriding(store, change(store, name.path));
    },
  };
}

/** A subject of which the pages that are streamed are changed. */
export function streaming(
  change: (pages: AsyncIterable<Page>) => AsyncIterable<Page>,
  torn?: boolean,
): Subject {
  return reading((store) => ({
    stream: async (id, options) => {
      const { pages, ...stream } = await store.stream(id, options);
      return { ...stream, pages: change(pages), torn: () => torn ?? stream.torn() };
    },
  }));
}

export function examining(change: (session: ExaminedSession) => Partial<ExaminedSession>): Subject {
  const openExaminer = async (...args: Parameters<Subject["openExaminer"]>): Promise<StoreExaminer> => {
    const examiner = await HOLDFAST.openExaminer(...args);
    async function* sessions(ids?: readonly string[]) {
      for await (const session of examiner.sessions(ids)) yield { ...session, ...change(session) };
    }
    return overriding(examiner, { sessions });
  };
  return { ...HOLDFAST, openExaminer };
}

export function repairing(
  change: (repairer: StoreRepairer, path: string) => Partial<StoreRepairer>,
): Subject {
  return {
    ...HOLDFAST,
    openRepairer: async (name) => {
      const repairer = await HOLDFAST.openRepairer(name);
      return overriding(repairer, change(repairer, name.path));
    },
  };
}

export async function* withoutLast(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  const all = await Array.fromAsync(pages);
  yield all.flat().slice(0, -1);
}

export async function* withOtherText(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  for await (const page of pages) {
    yield page.map((decoded) => {
      const text = decoded.record.text.replace('"type":', '"type": ');
      return { ...decoded, record: { ...decoded.record, text } };
    });
  }
}

export async function* withGap(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  const all = await Array.fromAsync(pages);
  yield all.flat().slice(1);
}

export async function* withError(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  yield* withoutLast(pages);
  throw new CorruptError("made up", { expected: "this", found: "that", place: {} });
}

// biome-ignore lint/correctness/useYield: it is thrown at once
export async function* withTypeError(): AsyncGenerator<Page> {
  throw new TypeError("made up");
}

/** An append that is acknowledged and goes nowhere. */
export const forgetful: Subject = {
  ...HOLDFAST,
  openStore: async (name, options) => {
    const store = await HOLDFAST.openStore(name, options);
    return overriding(store, {
      prepare: async (id) => {
        const preparation = await store.prepare(id);
        const session = preparation.session;
        const append = async (draft: EventDraft) => ({ ...draft, seq: session.log.length, time: 0 });
        const log = overriding(session.log, { append });
        return overriding(preparation, { publish: () => overriding(preparation.publish(), { log }) });
      },
    });
  },
};

export const touched = reading((store, path) => ({
  list: (request) => {
    utimesSync(path, 1, 1);
    appendFileSync(path, "x");
    return store.list(request);
  },
}));
