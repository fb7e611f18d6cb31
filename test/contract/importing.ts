import { describe, expect, test } from "bun:test";
import { decodeRecord, type SessionRecord } from "../../src/session/records.ts";
import { allEventDrafts } from "../fixtures/all-event-drafts.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import type { Contract } from "./contract.ts";
import { headerOf, type Rig } from "./rig.ts";
import { drain } from "./streaming.ts";
import { deltas, outcomesOf, rejectionOf, title, titleAt } from "./support.ts";

const HEADER = JSON.stringify(headerOf("s"));
/** What JSON readers change in a header that they write again. */
const ODD_MEMBERS = '"x":12345678901234567890,"y":1.0,"z":"\\u00e9"';

/** What other writers leave: odd spelling, members and types that nobody here knows, an older shape, packed runs. */
const FOREIGN = [
  '{"seq":0,"type":"session/title","data":{"n":12345678901234567890,"é":"\\u00e9\\ud800"},"time":7,"extra":1.50}',
  '{ "type" : "session/title", "seq" : 1, "time" : 7, "data" : "\\/" }',
  '{"type":"future/event","seq":2,"time":7,"data":{"z":1e2,"a":[]}}',
  '{"type":"user/message","seq":3,"time":8,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"append"}',
  `{"type":"session/title","seq":4,"time":8,"data":{"long":"${"x".repeat(20_000)}","n":1.50}}`,
  '{"type":"text-chunks","seq0":5,"time0":9,"data":{"turn":1,"step":1,"index":0,"dt":[1,-1],"texts":["a","\\u0062","\u2028"]}}',
];

function recordsOf(texts: readonly string[]): SessionRecord[] {
  return texts.map((text) => decodeRecord(text, {}).record);
}

function titles(from: number, to: number): SessionRecord[] {
  return recordsOf(Array.from({ length: to - from }, (_, k) => JSON.stringify(titleAt(from + k))));
}

async function textsOf(rig: Rig, id: string): Promise<string[]> {
  const { records, fault } = await drain(await rig.store.stream(id));
  expect(fault).toBeUndefined();
  return records.map(({ text }) => text);
}

/** Records of another store, taken over byte for byte. */
export function importing({ rigged }: Contract): void {
  describe("importing", () => {
    test(
      "what was streamed out of a session makes the same session again",
      rigged(async (rig) => {
        const drafts = [...allEventDrafts(), turnStart(9), ...deltas(7)].map((draft, k) => ({
          ...draft,
          time: k,
        }));
        await rig.stored("s", drafts, { cwd: "/work", origin: "subagent" });
        const stream = await rig.store.stream("s");
        const { records } = await drain(stream);
        const { closers } = await rig.store.inspect("s");
        await rig.store.delete("s");
        await rig.store.importRecords(stream.headerText, records);
        await rig.restart();
        const copy = await rig.store.stream("s");
        expect([copy.header, copy.headerText]).toEqual([stream.header, stream.headerText]);
        expect((await drain(copy)).records).toEqual(records);
        expect((await rig.store.inspect("s")).closers).toEqual(closers);
      }),
    );

    test(
      "texts of any writer stay byte for byte, also under a header with members that nobody here knows",
      rigged(async (rig) => {
        const header = '{"id":"s","future":{"a":[1.50]},"createdAt":5,"version":0,"delegationDepth":0}';
        await rig.store.importRecords(header, recordsOf(FOREIGN));
        await rig.restart();
        expect(await textsOf(rig, "s")).toEqual(FOREIGN);
        expect(JSON.parse((await rig.store.stream("s")).headerText)).toMatchObject(JSON.parse(header));
        const { header: read, unknownTypes } = await rig.store.inspect("s");
        expect(read).toEqual(headerOf("s", { createdAt: 5 }));
        expect(unknownTypes).toEqual([{ type: "future/event", seq: 2 }]);
        expect((await rig.store.readFrom("s", 5)).length).toBe(3);
      }),
    );

    test(
      "members of a header that nobody here knows keep their spelling",
      rigged(async (rig) => {
        const header = `{"version":0,"id":"s","createdAt":5,${ODD_MEMBERS}}`;
        await rig.store.importRecords(header, titles(0, 1));
        await rig.restart();
        expect((await rig.store.stream("s")).headerText).toContain(ODD_MEMBERS);
      }),
    );

    test(
      "a long log is taken over in parts, and goes on like any other; only its first part brings a header",
      rigged(async (rig) => {
        await rig.store.importRecords(HEADER, titles(0, 3));
        await rig.store.importRecords(JSON.stringify(headerOf("s", { cwd: "/other" })), titles(3, 4));
        await rig.store.append("s", [titleAt(4)]);
        await rig.store.importRecords(HEADER, titles(5, 7));
        await rig.restart();
        const { session } = await rig.resume("s");
        expect(session.header).toEqual(headerOf("s"));
        expect((await session.log.append(title(7))).seq).toBe(7);
        expect((await rig.store.readFrom("s", 0)).map(({ data }) => data)).toEqual(
          Array.from({ length: 8 }, (_, n) => ({ n })),
        );
      }),
    );

    for (const [what, from] of [
      ["a gap", 3],
      ["records that are stored already", 0],
      ["the last record once more", 1],
    ] as const) {
      test(
        `${what}: a conflict, and nothing changes`,
        rigged(async (rig) => {
          await rig.store.importRecords(HEADER, titles(0, 2));
          const before = await rig.store.listSnapshots();
          expect(await rejectionOf(rig.store.importRecords(HEADER, titles(from, from + 2)))).toMatchObject({
            code: "sequence-conflict",
          });
          await rig.restart();
          if (rig.capabilities.durable) expect(await rig.store.listSnapshots()).toEqual(before);
          expect((await textsOf(rig, "s")).length).toBe(2);
          await rig.store.importRecords(HEADER, titles(2, 3));
          expect((await textsOf(rig, "s")).length).toBe(3);
        }),
      );
    }

    test(
      "records with a gap or a record twice among them are refused as a whole",
      rigged(async (rig) => {
        await rig.store.importRecords(HEADER, titles(0, 1));
        for (const records of [
          [...titles(1, 3), ...titles(4, 5)],
          [...titles(1, 3), ...titles(2, 4)],
        ]) {
          const error = await rejectionOf(rig.store.importRecords(HEADER, records));
          expect(error).toMatchObject({ code: "sequence-conflict" });
          expect((await textsOf(rig, "s")).length).toBe(1);
        }
      }),
    );

    test(
      "a new session begins at seq 0, and with at least one record",
      rigged(async (rig) => {
        const [outcome] = await outcomesOf([rig.store.importRecords(HEADER, titles(1, 3))]);
        expect(["sequence-conflict", "not-found"]).toContain(outcome ?? "");
        await rig.store.importRecords(HEADER, []);
        expect((await rig.store.list()).items).toEqual([]);
        expect(await rejectionOf(rig.store.inspect("s"))).toMatchObject({ code: "not-found" });
      }),
    );

    test(
      "a session that is open is not imported into",
      rigged(async (rig) => {
        const session = await rig.create("s");
        const refused = () => rejectionOf(rig.store.importRecords(HEADER, titles(0, 1)));
        expect(await refused()).toMatchObject({ code: "session-open" });
        await session.log.append(title(0));
        expect(await refused()).toMatchObject({ code: "session-open" });
        expect((await session.log.append(title(1))).seq).toBe(1);
        expect((await rig.store.readFrom("s", 0)).length).toBe(2);
      }),
    );

    test(
      "a header that cannot be read is refused, and nothing is stored",
      rigged(async (rig) => {
        const cases = [
          ["{", "corrupt"],
          ['{"version":0,"id":"s"}', "corrupt"],
          ['{"version":1,"id":"s","createdAt":0}', "unsupported-format"],
        ] as const;
        for (const [header, code] of cases) {
          expect(await rejectionOf(rig.store.importRecords(header, titles(0, 1)))).toMatchObject({ code });
        }
        expect((await rig.store.list()).items).toEqual([]);
      }),
    );

    test(
      "an inspection from before it is not taken for what is stored now",
      rigged(async (rig) => {
        await rig.stored("s", [turnStart(1), userMessage("x")]);
        const before = await rig.store.inspect("s");
        await rig.store.importRecords(HEADER, titles(2, 3));
        const after = await rig.store.inspect("s");
        expect(after.revision).not.toBe(before.revision);
        await using preparation = await rig.store.prepare("s");
        expect(preparation.session.log.at(2).type).toBe("session/title");
      }),
    );
  });
}
