import { expect, test } from "bun:test";
import fc from "fast-check";
import type { LogFault } from "../../../src/session/audit/fault.ts";
import { type AuditState, LogAudit } from "../../../src/session/audit/index.ts";
import type { EventDraft } from "../../../src/session/events.ts";
import { OutlineFold } from "../../../src/session/projections/outline.ts";
import { type DecodedRecord, decodeRecord } from "../../../src/session/records.ts";
import { arbitrarySession, batchSizes, toEvents } from "../../fixtures/arbitraries.ts";
import { stepEnd, stepStart, toolCall, turnEnd, turnStart } from "../../fixtures/event-drafts.ts";
import { recordsOf } from "../../fixtures/logs.ts";

const AT = { turn: 1, step: 1 };
const STRAY: readonly EventDraft[] = [
  turnStart(1),
  turnEnd(1),
  stepStart(AT),
  stepEnd(AT),
  toolCall(AT, "call-1-1-0"),
  { type: "session/title", data: { title: "A title" } },
];

/** Records of a session, perhaps with events in place of others. */
const sessions = fc
  .record({
    drafts: arbitrarySession(),
    strays: fc.array(fc.record({ at: fc.nat(), draft: fc.constantFrom(...STRAY) }), { maxLength: 2 }),
    sizes: batchSizes(),
  })
  .map(({ drafts, strays, sizes }) => {
    const changed = [...drafts];
    for (const { at, draft } of strays) changed[at % drafts.length] = draft;
    return recordsOf(toEvents(changed), sizes).map(({ text }) => decodeRecord(text, {}));
  });

interface Step {
  readonly faults: readonly LogFault[];
  readonly state: AuditState;
}

function audited(records: readonly DecodedRecord[], state?: AuditState): Step[] {
  const audit = new LogAudit(state);
  return records.map((decoded) => ({ faults: audit.take(decoded, () => ({})), state: audit.state }));
}

function isReplacement({ event }: DecodedRecord): boolean {
  return event?.surfaceOp !== undefined && event.surfaceOp !== "append";
}

test("an audit that goes on from any sound beginning finds what one of all finds", () => {
  fc.assert(
    fc.property(sessions, fc.nat(), (records, at) => {
      const whole = audited(records);
      const sound = whole.findIndex(({ faults }) => faults.length > 0);
      const cut = at % ((sound < 0 ? records.length : sound) + 1);
      // Behind a message that stands in for one before the cut, more may be wrong: nobody goes on there.
      const replaced = records.findIndex((decoded, k) => k >= cut && isReplacement(decoded));
      const end = replaced < 0 ? records.length : replaced;
      expect(audited(records.slice(cut, end), whole[cut - 1]?.state)).toEqual(whole.slice(cut, end));
    }),
    { numRuns: 300 },
  );
});

test("a message that stands in for one before the beginning is a fault", () => {
  fc.assert(
    fc.property(sessions, fc.nat(), (records, at) => {
      const whole = audited(records);
      const replaced = records.findIndex(isReplacement);
      const op = records[replaced]?.event?.surfaceOp;
      fc.pre(whole.slice(0, replaced + 1).every(({ faults }) => faults.length === 0));
      if (op === undefined || op === "append") return;
      const first = records.findIndex(({ record }) => record.seq > op.start);
      const cut = first + (at % (replaced - first + 1));
      const rest = audited(records.slice(cut, replaced + 1), whole[cut - 1]?.state);
      expect(rest.at(-1)?.faults.map(({ code }) => code)).toEqual(["reference"]);
    }),
    { numRuns: 100 },
  );
});

test("an outline that goes on from any beginning is that of all", () => {
  const outlineOf = (records: readonly DecodedRecord[], fold = new OutlineFold()) => {
    for (const decoded of records) fold.fold(decoded);
    return fold.outline;
  };
  fc.assert(
    fc.property(sessions, fc.nat(), (records, at) => {
      const cut = at % (records.length + 1);
      const begun = new OutlineFold(outlineOf(records.slice(0, cut)));
      expect(outlineOf(records.slice(cut), begun)).toEqual(outlineOf(records));
    }),
    { numRuns: 200 },
  );
});
