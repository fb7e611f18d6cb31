import { describe, expect, test } from "bun:test";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import { planJsonlRepair } from "../../../src/store/jsonl/repairer.ts";
import { openMemory } from "../../../src/store/memory/index.ts";
import { salvageSession } from "../../../src/store/salvage.ts";
import { verifySessions } from "../../../src/store/verify.ts";
import { rejectionOf } from "../../contract/support.ts";
import { buildLog, frameOf, titleText } from "./log-bytes.ts";
import { Place } from "./place.ts";

/* Long stretches that yield nothing: whoever waits for their end can stop before it. */

const MIB = 1024 * 1024;
const LINES = Buffer.alloc(4 * MIB, `${"x".repeat(49)}\n`);
const START = [[titleText(0)]];
const plain = (...parts: readonly (string | Buffer)[]) =>
  Buffer.concat([buildLog("s", "none", START).bytes, ...parts.map((part) => Buffer.from(part))]);
const framed = (...parts: readonly Buffer[]) => Buffer.concat([buildLog("s", "zstd", START).bytes, ...parts]);
/** A later end of a Turn: what is before it is no torn tail. */
const TURN_END = `{"type":"turn/end","seq":9,"time":0,"data":{"turn":1,"reason":{"kind":"completed"}}}\n`;

const LOGS: ReadonlyArray<readonly [string, "zstd" | "none", () => Buffer]> = [
  ["lines of garbage", "none", () => plain(LINES)],
  ["lines of garbage, and more of the log behind them", "none", () => plain(LINES, TURN_END)],
  [
    "broken lines of JSON",
    "none",
    () => plain(Buffer.alloc(3 * MIB, `{"type":"turn/end","data":{"text":"${"x".repeat(150)}",\n`)),
  ],
  ["one frame of garbage", "zstd", () => framed(frameOf(LINES))],
  [
    "beginnings of frames that lead nowhere",
    "zstd",
    () => framed(Buffer.alloc(4 * MIB, frameOf("x\n").subarray(0, 5))),
  ],
];

describe.each(LOGS)("of %s", (_, encoding, bytes) => {
  /** A signal that comes as soon as anything else gets its turn. */
  const stopSoon = () => {
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error("stopped")));
    return stop.signal;
  };

  test("a check stops in the middle", async () => {
    using place = new Place();
    place.put("s", encoding, bytes());
    await using examiner = await examineJsonl(place.root);
    const seen: string[] = [];
    for await (const { kind } of verifySessions(examiner, { signal: stopSoon() })) seen.push(kind);
    expect(seen).not.toContain("session");
  });

  test("so does a repair that is being planned, and a salvage", async () => {
    using place = new Place();
    place.put("s", encoding, bytes());
    const planning = planJsonlRepair(place.root, { signal: stopSoon() });
    expect(await rejectionOf(planning)).toMatchObject({ message: "stopped" });
    await using examiner = await examineJsonl(place.root);
    await using store = openMemory({ clock: () => 0, chunkWindowMs: 0 });
    for await (const session of examiner.sessions()) {
      const salvaging = salvageSession(session, () => Promise.resolve(store), {
        clock: () => 0,
        signal: stopSoon(),
      });
      expect(await rejectionOf(salvaging)).toMatchObject({ message: "stopped" });
    }
  });

  test("others have their turn while it is read, opened or planned to be repaired", async () => {
    using place = new Place();
    place.put("s", encoding, bytes());
    let turns = 0;
    const during = async (run: () => Promise<unknown>) => {
      const before = turns;
      await run().catch(() => {});
      return turns - before;
    };
    let next = setImmediate(function tick() {
      turns += 1;
      next = setImmediate(tick);
    });
    await using store = await place.read();
    await using examiner = await examineJsonl(place.root);
    expect(await during(() => Array.fromAsync(verifySessions(examiner)))).toBeGreaterThan(5);
    expect(await during(() => planJsonlRepair(place.root))).toBeGreaterThan(5);
    if (encoding === "none") expect(await during(() => store.inspect("s"))).toBeGreaterThan(5);
    clearImmediate(next);
  });
});
