import { describe, expect, test } from "bun:test";
import { type EventSink, SessionLog } from "../../src/session/log.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { Session } from "../../src/session/session.ts";
import { toEvents } from "../fixtures/arbitraries.ts";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { recordsOf } from "../fixtures/logs.ts";

const NO_SINK: EventSink = {
  nextSeq: 0,
  generation: 0,
  submit: () => Promise.reject(new Error("nothing is stored here")),
  writable: () => Promise.resolve(),
};

describe("a session", () => {
  test("has projections up to the durable end of its log", () => {
    const log = new SessionLog({ version: 0, id: "s", createdAt: 0 }, [], NO_SINK, () => 0);
    const session = new Session(log, new SessionProjections(), () => Promise.resolve());
    expect(session.projections.seen).toBe(0);
    log.publish(recordsOf(toEvents([turnStart(1), userMessage("a")])));
    expect([session.projections.seen, session.projections.openWork.turn]).toEqual([2, 1]);
    expect([session.id, session.header]).toEqual(["s", log.header]);
  });

  test("gives its claim back when it is disposed", async () => {
    const log = new SessionLog({ version: 0, id: "s", createdAt: 0 }, [], NO_SINK, () => 0);
    const released: string[] = [];
    {
      await using session = new Session(log, new SessionProjections(), async () => void released.push("now"));
      expect([session.id, ...released]).toEqual(["s"]);
    }
    expect(released).toEqual(["now"]);
  });
});
