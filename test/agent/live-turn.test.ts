import { describe, expect, test } from "bun:test";
import { LiveFeed, type LiveItem } from "../../src/agent/live-feed.ts";
import { stepEnd, textDelta, turnEnd, turnStart } from "../fixtures/event-drafts.ts";
import { drained, HeldSink, state } from "../fixtures/held-sink.ts";

const ANY = Number.POSITIVE_INFINITY;

class Rig {
  readonly sink = new HeldSink();
  readonly feed = new LiveFeed(this.sink.log);

  /** Appends and commits. */
  async append(...drafts: Parameters<HeldSink["log"]["appendAll"]>[0]): Promise<void> {
    const appended = this.sink.log.appendAll(drafts);
    this.sink.commit();
    await appended;
  }

  delta(turn: number): void {
    const seq = this.sink.nextSeq;
    this.sink.log.append(textDelta({ turn, step: 1 }, "x")).catch(() => undefined);
    this.feed.offer({ turn, step: 1, seq, chunk: { type: "text-delta", index: 0, text: "x" } });
  }
}

function seqs(items: readonly LiveItem[]): string[] {
  return items.map((item) => (item.kind === "event" ? `${item.seq}` : `(${item.delta.seq})`));
}

describe("the stream of a Turn", () => {
  test("has nothing while another Turn runs, then its own events and deltas, and nothing of the next Turn", async () => {
    const rig = new Rig();
    const turn = rig.feed.followTurn();
    await rig.append(turnStart(1), turnEnd(1));
    rig.delta(1);
    expect([turn.hasMore(), turn.ended, seqs(turn.take(ANY))]).toEqual([false, false, []]);
    rig.sink.commit();

    turn.begin();
    expect(turn.hasMore()).toBe(false);
    await rig.append(turnStart(2));
    rig.delta(2);
    expect(seqs(turn.take(ANY))).toEqual(["3", "(4)"]);
    await rig.append(turnEnd(2));
    turn.end();

    await rig.append(turnStart(3));
    rig.delta(3);
    expect(turn.ended).toBe(false);
    expect(seqs(turn.take(1))).toEqual(["4"]);
    expect(seqs(turn.take(ANY))).toEqual(["5"]);
    expect([turn.hasMore(), turn.ended, seqs(turn.take(ANY))]).toEqual([false, true, []]);
  });

  test("leaves out what first closes an earlier Turn", async () => {
    const rig = new Rig();
    await rig.append(turnStart(1));
    const turn = rig.feed.followTurn();
    turn.begin();
    await rig.append(stepEnd({ turn: 1, step: 1 }), turnEnd(1));
    expect(turn.hasMore()).toBe(false);
    await rig.append(turnStart(2));
    expect(seqs(turn.take(ANY))).toEqual(["3"]);
  });

  test("is empty when the Turn could not save its first event, or never began", async () => {
    const rig = new Rig();
    const failed = rig.feed.followTurn();
    const refused = rig.feed.followTurn();
    failed.begin();
    for (const turn of [failed, refused]) turn.end();
    await rig.append(turnStart(1), turnEnd(1));
    for (const turn of [failed, refused]) {
      expect([turn.ended, seqs(turn.take(ANY))]).toEqual([true, []]);
      turn.end();
      expect(turn.ended).toBe(true);
    }
  });

  test("can be waited for from before the Turn to its end, also where the feed is closed", async () => {
    const rig = new Rig();
    const turn = rig.feed.followTurn();
    const begun = turn.changed();
    rig.feed.close();
    await rig.append(turnStart(1), turnEnd(1));
    expect(await state(begun)).toBe("pending");
    turn.begin();
    expect(await state(begun)).toBe("pending");
    await rig.append(turnStart(2));
    expect(await state(begun)).toBe("resolved");
    turn.take(ANY);
    const ended = turn.changed();
    expect(await state(ended)).toBe("pending");
    turn.end();
    expect(await state(ended)).toBe("resolved");
    await drained();
    expect(rig.feed.waiting).toBe(0);
  });
});
