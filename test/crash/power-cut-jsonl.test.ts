import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { turnStart, userMessage } from "../fixtures/event-drafts.ts";
import { JSONL_SCENARIOS } from "../fixtures/power-cut/jsonl.ts";
import { letters } from "../fixtures/power-cut/turn.ts";
import { buildLog, textsOf } from "../store/jsonl/log-bytes.ts";
import { ENCODINGS, Place } from "../store/jsonl/place.ts";

// Hundreds of states, each opened twice, perhaps on a busy machine.
setDefaultTimeout(60_000);

describe.each(ENCODINGS)("the power is cut, session logs, encoding %s", (encoding) => {
  for (const { name, floor, run } of JSONL_SCENARIOS) {
    test(`${name}: all that was acknowledged is there, and nothing that was not sent`, async () => {
      const { present, absent, refused } = await run(encoding);
      expect(present + absent).toBeGreaterThan(floor);
      // Only where the first part of plain lines never reached the disk, and the end of a Turn behind it did.
      expect(refused).toBeLessThan(encoding === "none" ? present / 8 : 1);
    });
  }
});

test("a batch of several blocks of which a sector in the middle and the end are missing yields nothing that was not sent", async () => {
  const title = (length: number, seed: number) => ({
    type: "session/title" as const,
    data: letters(length, seed),
  });
  const batches = textsOf([
    [turnStart(1), userMessage("x")],
    [title(20_000, 1), title(90_000, 2), title(90_000, 102)],
  ]);
  const sent = batches.flat();
  const { bytes } = buildLog("s", "zstd", batches);
  let salvaged = 0;
  // In the first block, where some holes unfold to other letters, and behind the last whole one.
  const holes = [...Array.from({ length: 22 }, (_, k) => 70_656 + 512 * k), bytes.length - 2_048];
  for (const hole of holes) {
    using place = new Place();
    const left = Buffer.from(bytes.subarray(0, bytes.length - 700));
    left.fill(0, hole, hole + 512);
    place.put("s", "zstd", left);
    await using store = await place.read();
    const { log, closers } = await store.inspect("s");
    const texts = [...log.texts()].slice(0, log.length - closers.length);
    expect({ hole, texts }).toEqual({ hole, texts: sent.slice(0, texts.length) });
    salvaged += texts.length > 2 ? 1 : 0;
  }
  expect(salvaged).toBeGreaterThan(0);
});
