import { expect, test } from "bun:test";
import type { Contract } from "./contract.ts";
import { rejectionOf, title, titleAt } from "./support.ts";

function line(type: string, seq: number, data: unknown, more: object = {}): string {
  return JSON.stringify({ type, seq, time: 100 + seq, data, ...more });
}

const USER = { id: "u", role: "user", content: [{ type: "text", text: "hi" }], source: { kind: "user" } };
const UNKNOWN = [
  line("user/message", 0, USER, { surfaceOp: "append" }),
  line("future/event", 1, { big: "9".repeat(30) }),
  line("future/other", 2, {}),
  line("future/event", 3, {}),
];

/** As an older writer of version 0 left a Turn that was interrupted in a tool. */
const LEGACY = [
  line("turn/start", 0, { turn: 1, trigger: { kind: "user" } }),
  line(
    "user/message",
    1,
    { content: [{ type: "text", text: "hi" }], source: { kind: "user" } },
    { surfaceOp: "append" },
  ),
  line("step/start", 2, { turn: 1, step: 1 }),
  line(
    "assistant/message",
    3,
    {
      turn: 1,
      step: 1,
      content: [{ type: "tool-call", id: "c1", name: "read_file", arguments: "{}" }],
      provenance: { provider: "demo", model: "demo-1" },
    },
    { surfaceOp: "append" },
  ),
  line("tool/call", 4, { turn: 1, step: 1, callId: "c1", name: "read_file", arguments: "{}" }),
  line(
    "steering/message",
    5,
    { turn: 1, content: [{ type: "text", text: "wait" }], source: { kind: "user" } },
    { surfaceOp: "append" },
  ),
];

/** Logs that other programs, or other versions, wrote: kept byte for byte, read where that is safe. */
export function foreignLogs({ rigged, needing }: Contract): void {
  needing("faults", "logs of other writers", () => {
    test(
      "an unknown type that is not ignorable: inspection shows it, everything else refuses and changes nothing",
      rigged(async (rig) => {
        await rig.seed("s", UNKNOWN);
        await rig.restart();
        const snapshots = await rig.store.listSnapshots();
        const inspected = await rig.store.inspect("s");
        expect(inspected.unknownTypes).toEqual([
          { type: "future/event", seq: 1 },
          { type: "future/other", seq: 2 },
        ]);
        expect([...inspected.log.texts()]).toEqual(UNKNOWN);
        expect((await rig.store.readFrom("s", 1)).map(({ type }) => type)).toEqual([
          "future/event",
          "future/other",
          "future/event",
        ]);
        const refusal = { code: "unsupported-format", place: { seq: 1, eventType: "future/event" } };
        expect(await rejectionOf(rig.store.prepare("s"))).toMatchObject(refusal);
        expect(await rejectionOf(rig.store.load("s"))).toMatchObject(refusal);
        expect(await rejectionOf(rig.store.append("s", [titleAt(4)]))).toMatchObject(refusal);
        expect(await rig.store.listSnapshots()).toEqual(snapshots);
        expect([...(await rig.store.inspect("s")).log.texts()]).toEqual(UNKNOWN);
      }),
    );

    test(
      "an unknown type that is ignorable is kept and skipped",
      rigged(async (rig) => {
        const texts = [line("future/event", 0, { a: [1] }, { ignorable: true })];
        await rig.seed("s", texts);
        await rig.restart();
        const { session } = await rig.resume("s");
        await session.log.append(title(1));
        await rig.restart();
        const { log, unknownTypes } = await rig.store.inspect("s");
        expect(unknownTypes).toEqual([]);
        expect([...log.texts(0, 1)]).toEqual(texts);
        expect(log.at(0)).toMatchObject({ type: "future/event", ignorable: true, data: { a: [1] } });
      }),
    );

    test(
      "texts are kept byte for byte: large integers, key order, escapes, unknown keys",
      rigged(async (rig) => {
        const texts = [
          '{"seq":0,"type":"session/title","data":{"n":12345678901234567890,"é":"\\u00e9\\ud800"},"time":7,"extra":1.50}',
          '{ "type" : "session/title", "seq" : 1, "time" : 7, "data" : "\\/" }',
        ];
        await rig.seed("s", texts);
        await rig.restart();
        expect([...(await rig.store.inspect("s")).log.texts()]).toEqual(texts);
        const { session } = await rig.resume("s");
        await session.log.append(title(2));
        expect([...session.log.texts(0, 2)]).toEqual(texts);
      }),
    );

    test(
      "an interrupted Turn of an older writer is closed like any other",
      rigged(async (rig) => {
        await rig.seed("s", LEGACY);
        await rig.restart();
        const { closers, log, projections } = await rig.store.inspect("s");
        expect(closers).toMatchObject([
          {
            type: "tool/result",
            seq: 6,
            sourceEventSeqs: [4],
            data: { error: { code: "TOOL_OUTCOME_UNKNOWN" } },
          },
          { type: "step/end", seq: 7 },
          { type: "turn/end", seq: 8, data: { reason: { kind: "interrupted" } } },
        ]);
        expect([...log.texts(0, 6)]).toEqual(LEGACY);
        expect(projections.messages(log, "s").map(({ id }) => id)).toEqual([
          "legacy-message:s:1",
          "legacy-message:s:3",
          "legacy-message:s:5",
          "interrupted-tool-result-c1-6",
        ]);
        const { session } = await rig.resume("s");
        expect([...session.log]).toEqual([...log]);
        expect([...session.log.texts(0, 6)]).toEqual(LEGACY);
      }),
    );

    for (const [what, header, code, state, reason] of [
      [
        "of a newer version",
        '{"version":1,"id":"bad","createdAt":0,"shape":"other"}',
        "unsupported-format",
        "unsupported",
        "version 1",
      ],
      [
        "that lacks a member",
        '{"version":0,"id":"bad","delegationDepth":0}',
        "corrupt",
        "corrupt",
        "createdAt",
      ],
      [
        "of another id",
        '{"version":0,"id":"other","createdAt":0,"delegationDepth":0}',
        "corrupt",
        "corrupt",
        "other",
      ],
    ] as const) {
      test(
        `a header ${what}: the session is listed with the reason, can be deleted, and harms no other`,
        rigged(async (rig) => {
          await rig.seed("bad", [UNKNOWN[0] ?? ""], header);
          await rig.stored("good", [title(0)]);
          await rig.restart();
          const { items } = await rig.store.list();
          expect(items.map(({ id }) => id).toSorted()).toEqual(["bad", "good"]);
          const good = items.find(({ id }) => id === "good");
          expect([good?.header?.id, good?.problem]).toEqual(["good", undefined]);
          const bad = items.find(({ id }) => id === "bad");
          expect(bad?.header).toBeUndefined();
          expect(bad?.problem).toEqual({ state, reason: expect.stringContaining(reason) });
          const snapshots = (await rig.store.listSnapshots()).items;
          expect(snapshots.map(({ id }) => id).toSorted()).toEqual(["bad", "good"]);
          for (const method of ["inspect", "load", "prepare", "stream"] as const) {
            expect(await rejectionOf(rig.store[method]("bad"))).toMatchObject({ code });
          }
          expect((await rig.store.load("good")).log.length).toBe(1);
          await rig.store.delete("bad");
          expect((await rig.store.list()).items.map(({ id }) => id)).toEqual(["good"]);
        }),
      );
    }
  });
}
