import { describe, expect, test } from "bun:test";
import { recordTexts, type SessionRecord } from "../../src/session/records.ts";
import { StorageFailedError } from "../../src/store/errors.ts";
import type { SessionStream } from "../../src/store/persistence.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { toEvents, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { headerOf } from "./rig.ts";
import { deltas, rejectionOf, settle, title, titleAt } from "./support.ts";

/** All records of a stream up to its end or its first fault. */
export async function drain(stream: SessionStream): Promise<{ records: SessionRecord[]; fault?: unknown }> {
  const records: SessionRecord[] = [];
  try {
    for await (const page of stream.pages) records.push(...page.map(({ record }) => record));
  } catch (fault) {
    return { records, fault };
  }
  return { records };
}

function line(type: string, seq: number, data: unknown, more: object = {}): string {
  return JSON.stringify({ type, seq, time: 100 + seq, data, ...more });
}

/** Each record is sound alone; the replacement is of a message that was never there. */
const MISFIT = [
  line("session/title", 0, {}),
  line("session/title", 1, {}),
  line(
    "user/message",
    2,
    { id: "u", role: "user", content: [], source: { kind: "user" } },
    { surfaceOp: { op: "replace", start: 0, end: 0 }, sourceEventSeqs: [0] },
  ),
  line("session/title", 3, {}),
];

/** Stored sessions read from first to last as they are stored. */
export function streaming({ rigged, needing }: Contract): void {
  describe("streaming", () => {
    test(
      "gives the header and every record in order, without closers, and changes nothing",
      rigged(async (rig) => {
        const drafts = [...allEventDrafts(), turnStart(9), ...deltas(7)].map((draft, k) => ({
          ...draft,
          time: k,
        }));
        await rig.stored("s", drafts, { cwd: "/work", agentPreset: "x" });
        await rig.restart();
        const before = await rig.store.listSnapshots();
        const stream = await rig.store.stream("s");
        expect(stream.header).toEqual(headerOf("s", { cwd: "/work", agentPreset: "x" }));
        expect(JSON.parse(stream.headerText)).toMatchObject(stream.header);
        const { records, fault } = await drain(stream);
        expect([fault, stream.torn()]).toEqual([undefined, false]);
        const texts = toEvents(drafts).map((event) => JSON.stringify(event));
        expect(records.flatMap(recordTexts)).toEqual(texts);
        expect((await rig.store.inspect("s")).closers.length).toBeGreaterThan(0);
        const after = await rig.store.listSnapshots();
        expect([after, after.items[0]?.revision]).toEqual([before, stream.revision]);
      }),
    );

    test(
      "from any seq on it begins with the record that holds it, and a seq beyond the end gives nothing",
      rigged(async (rig) => {
        const drafts = [...allEventDrafts(), turnStart(9), ...deltas(7), title(1), ...deltas(4)];
        for (const id of ["before", "s", "after"]) await rig.stored(id, drafts);
        await rig.restart();
        const { records } = await drain(await rig.store.stream("s"));
        const end = records.reduce((sum, { count }) => sum + count, 0);
        for (const fromSeq of [...Array(end + 2).keys(), -1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
          const stream = await rig.store.stream("s", { fromSeq });
          const rest = await drain(stream);
          expect(rest).toEqual({ records: records.filter(({ seq, count }) => seq + count > fromSeq) });
          expect([stream.torn(), stream.header.id]).toEqual([false, "s"]);
        }
      }),
    );

    test(
      "a session that is not there, or only registered, is not found",
      rigged(async (rig) => {
        await rig.create("registered");
        for (const id of ["none", "registered"]) {
          expect(await rejectionOf(rig.store.stream(id))).toMatchObject({ code: "not-found" });
        }
      }),
    );

    test(
      "an open session is streamed as far as it is durable, and may go on meanwhile",
      rigged(async (rig) => {
        const session = await rig.create("s");
        await session.log.appendAll(Array.from({ length: 600 }, (_, k) => title(k)));
        const stream = await rig.store.stream("s");
        const texts: string[] = [];
        for await (const page of stream.pages) {
          texts.push(...page.flatMap(({ record }) => recordTexts(record)));
          await session.log.append(title(-1));
        }
        expect(texts.length).toBeGreaterThanOrEqual(600);
        expect(texts).toEqual([...session.log.texts(0, texts.length)]);
      }),
    );

    test(
      "a signal ends it between two pages",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const abort = new AbortController();
        const stream = await rig.store.stream("s", { signal: abort.signal });
        const reason = new Error("enough");
        abort.abort(reason);
        expect(await drain(stream)).toEqual({ records: [], fault: reason });
      }),
    );
  });

  needing("faults", "streaming what is damaged", () => {
    test(
      "everything before the damage is given out, then comes a typed error",
      rigged(async (rig) => {
        await rig.seed("s", MISFIT);
        await rig.restart();
        const { records, fault } = await drain(await rig.store.stream("s"));
        expect(records.map(({ text }) => text)).toEqual(MISFIT.slice(0, 2));
        expect(fault).toMatchObject({ code: "corrupt", place: { sessionId: "s", seq: 2 } });
        for (const method of ["inspect", "load", "prepare"] as const) {
          expect(await rejectionOf(rig.store[method]("s"))).toMatchObject({ code: "corrupt" });
        }
        expect((await rig.store.readFrom("s", 0, { limit: 2 })).map(({ seq }) => seq)).toEqual([0, 1]);
      }),
    );

    test(
      "a read that fails half-way is told, and the next stream is whole",
      rigged(async (rig) => {
        await rig.stored("s", [userMessage("x"), title(1)]);
        rig.faults.breakPages(new StorageFailedError("unreadable"), 1);
        const broken = await drain(await rig.store.stream("s"));
        expect(broken.fault).toMatchObject({ code: "storage-failed" });
        expect((await drain(await rig.store.stream("s"))).records.length).toBe(2);
      }),
    );

    test(
      "a slow reader keeps no append waiting",
      rigged(async (rig) => {
        await rig.stored("s", [title(0)]);
        const stream = await rig.store.stream("s");
        await rig.store.append("s", [titleAt(1)]);
        await settle();
        const { records } = await drain(stream);
        expect(records[0]?.text).toBe(JSON.stringify({ ...titleAt(0), time: records[0]?.time }));
      }),
    );
  });
}
