import { describe, expect, test } from "bun:test";
import { packed } from "../../src/routes/listed-bytes.ts";
import { SessionText } from "../../src/routes/session-text.ts";
import type { EventDraft } from "../../src/session/events.ts";
import { serialiseHeader } from "../../src/session/header.ts";
import type { SessionLog } from "../../src/session/log.ts";
import { SessionProjections } from "../../src/session/projections/index.ts";
import { AppRig } from "../fixtures/app-rig.ts";
import {
  assistantMessage,
  textBlock,
  textDelta,
  turnEnd,
  turnStart,
  userMessage,
} from "../fixtures/event-drafts.ts";

const PATH = "/api/v1/sessions/default";
const WORDS = ["word ", "漢字", "\u{1f980}", '"\\\n', "\u001b[0m", "\ud800", ""];

/** One Turn: deltas that pack, a message, and now and then one that fits into no piece. */
function turnDrafts(turn: number): EventDraft[] {
  const at = { turn, step: 1 };
  const deltas = Array.from({ length: 300 }, (_, k) => textDelta(at, WORDS[(turn + k) % WORDS.length] ?? ""));
  const length = turn % 7 === 0 ? 150_000 : 700;
  const text = "Größe \u{1f4be} ".repeat(length / 10);
  const messages = [userMessage(text, `u-${turn}`), assistantMessage(at, [textBlock(`${turn} ${text}`)])];
  return [turnStart(turn), ...deltas, ...messages, turnEnd(turn, { kind: "max-tokens" })];
}

/** The answer, put together as simply as can be. */
function plainly(log: SessionLog): string {
  const projections = new SessionProjections().catchUp(log);
  const transcript = [...projections.transcript(log)].map((entry) => JSON.stringify(entry));
  const usage = JSON.stringify(projections.usage.total);
  return `{"sessionId":"default","header":${serialiseHeader(log.header)},"nextSeq":${log.length},"usage":${usage},"events":[${[...log.texts()]}],"transcript":[${transcript}]}`;
}

/** Reads slowly, so that readers are at different places of the answer. */
async function readSlowly(response: Response, turns: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  return Buffer.concat(pieces).toString();
}

describe("a long session", () => {
  test("is answered byte for byte at every length, to readers at once and after one another", async () => {
    await using rig = await AppRig.start();
    for (let turn = 1; turn <= 30; turn += 1) {
      await rig.log.appendAll(turnDrafts(turn));
      if (turn % 5 !== 0 && turn > 3) continue;
      const expected = plainly(rig.log);
      const answers = await Promise.all(
        [0, 1, 3].map(async (turns) => readSlowly(await rig.fetch(PATH), turns)),
      );
      for (const answer of answers) expect(answer === expected, `after Turn ${turn}`).toBe(true);
    }
  });

  test("is answered as it was when it was asked for, also when it grows meanwhile", async () => {
    await using rig = await AppRig.start();
    for (let turn = 1; turn <= 12; turn += 1) await rig.log.appendAll(turnDrafts(turn));
    const expected: string[] = [];
    const answers: Promise<string>[] = [];
    for (let turn = 13; turn <= 18; turn += 1) {
      expected.push(plainly(rig.log));
      const asked = await rig.app.handle(
        new Request(`${rig.url}${PATH}`, { headers: { host: "localhost" } }),
      );
      answers.push(readSlowly(asked, turn % 3));
      await rig.log.appendAll(turnDrafts(turn));
    }
    expect((await Promise.all(answers)).map((answer, k) => answer === expected[k])).toEqual(
      Array(6).fill(true),
    );
  });

  test("is still whole for others when readers leave in the middle", async () => {
    await using rig = await AppRig.start();
    for (let turn = 1; turn <= 40; turn += 1) await rig.log.appendAll(turnDrafts(turn));
    const expected = plainly(rig.log);
    for (let reader = 0; reader < 4; reader += 1) {
      const leaver = (await rig.fetch(PATH)).body?.getReader();
      await leaver?.read();
      const staying = rig.fetch(PATH);
      await leaver?.cancel();
      expect((await (await staying).text()) === expected).toBe(true);
    }
    expect(rig.reports).toEqual([]);
  });

  test("whose writing is given back is whole for who is in the middle of it, and for the next", async () => {
    await using rig = await AppRig.start();
    for (let turn = 1; turn <= 12; turn += 1) await rig.log.appendAll(turnDrafts(turn));
    const expected = plainly(rig.log);
    const text = new SessionText(rig.agent.session);
    const whole = (pieces: Iterable<Uint8Array>) => Array.from(pieces, (piece) => Buffer.from(piece));
    for (let most = 0; most < 12; most += 1) {
      const pieces = packed(text.parts());
      const before: Buffer[] = [];
      for (let count = 0; count < most; count += 1) before.push(Buffer.from(pieces.next().value ?? []));
      text.release();
      const next = packed(text.parts());
      expect(Buffer.concat(whole(next)).toString() === expected, `next, ${most}`).toBe(true);
      text.release();
      const all = [...before, ...whole(pieces)];
      expect(Buffer.concat(all).toString() === expected, `in the middle, ${most}`).toBe(true);
    }
    const kept = [...text.parts()].filter((part) => part instanceof Uint8Array);
    expect(kept.length).toBeGreaterThan(2);
    text.release();
    expect(kept.map(({ length }) => length)).toEqual(kept.map(() => 0));
  });

  test("answers a HEAD request with its head alone", async () => {
    await using rig = await AppRig.start();
    for (let turn = 1; turn <= 12; turn += 1) await rig.log.appendAll(turnDrafts(turn));
    const response = await rig.fetch(PATH, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});
