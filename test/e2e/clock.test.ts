import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { stepStart, textDelta, toEvents, turnEnd, turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { DURABLE_STORES, HostLab } from "../fixtures/host-lab.ts";
import { recordsOf } from "../fixtures/logs.ts";
import { textReply } from "../fixtures/provider-server.ts";
import { plant, withStore } from "../fixtures/stored-sessions.ts";

// Real processes, perhaps on a busy machine.
setDefaultTimeout(30_000);

/** What the clock said when the log was written; it was set back since. */
const THEN = Date.UTC(2100, 0, 1);

describe.each(DURABLE_STORES)("a clock that was set back between two starts, sessions in %s:", (kind) => {
  test("recovery has the time of the log, the same each time, and new events come after it by their seq", async () => {
    await using lab = await HostLab.on(kind, textReply("Here."));
    const at = { turn: 2, step: 1 };
    const drafts = [turnStart(1), userMessage("Hello?"), turnEnd(1), turnStart(2), userMessage("And?")];
    const events = toEvents([...drafts, stepStart(at), textDelta(at, "Well")], THEN);
    const name = `${kind === "sqlite" ? "sqlite" : "jsonl"}:${lab.store}`;
    await withStore(name, (store) => plant(store, "default", recordsOf(events), { createdAt: THEN }));

    const first = await lab.start();
    const closed = await first.client.read();
    const last = THEN + events.length - 1;
    expect(closed.events.slice(events.length)).toMatchObject([
      { type: "step/end", time: last },
      { type: "turn/end", time: last, data: { turn: 2, reason: { kind: "interrupted" } } },
    ]);
    await first.stop("SIGKILL");
    const second = await lab.start();
    expect((await second.client.read()).text).toBe(closed.text);

    expect((await second.client.invoke("Are you there?")).body).toMatchObject({ turn: 3, message: "Here." });
    const after = await second.client.read();
    expect(after.events.map(({ seq }) => seq)).toEqual(after.events.map((_, seq) => seq));
    const news = after.events.slice(closed.nextSeq);
    expect(news.length).toBeGreaterThan(5);
    // The times are what the clock said, whatever they are.
    for (const { time } of news) expect(time).toBeLessThan(THEN);
    expect(after.transcript.map((entry) => `${entry.kind} ${entry.turn}`)).toEqual([
      "user 1",
      "user 2",
      "assistant 2",
      "turn-end 2",
      "user 3",
      "assistant 3",
    ]);
    expect(await second.stop("SIGTERM")).toEqual({ code: 143 });
    expect((await (await lab.start()).client.read()).text).toBe(after.text);
  });
});
