import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { titleAt } from "../../contract/support.ts";
import { turnEnd, turnStart, userMessage } from "../../fixtures/event-drafts.ts";
import { type BuiltLog, buildLog, randomBytes, rawFrame, seeded, textsOf } from "./log-bytes.ts";
import { LOG_NAMES, Place, readLog } from "./place.ts";
import { expectRefused } from "./refusal.ts";

const TIMEOUT = 30_000;
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const random = seeded(7);

const BATCHES = textsOf([
  [turnStart(1), userMessage("one"), turnEnd(1)],
  [{ type: "session/title", data: "two" }],
  [
    { type: "session/title", data: 3 },
    { type: "session/title", data: "three" },
  ],
  [turnStart(2), userMessage("last"), turnEnd(2)],
]);
const TEXTS = BATCHES.flat();

const KINDS: ReadonlyArray<readonly [string, BuiltLog]> = [
  ["compressed", buildLog("s", "zstd", BATCHES)],
  [
    "stored in blocks",
    buildLog("s", "zstd", BATCHES, (lines) => rawFrame([lines.slice(0, 70), lines.slice(70)]).bytes),
  ],
];

function frameAt({ bytes, offsets }: BuiltLog, batch: number): Buffer {
  return bytes.subarray(offsets[batch], offsets[batch + 1]);
}

/** What a crash, a power cut or somebody else may leave behind the last frame. */
function garbage(log: BuiltLog): Array<readonly [string, Buffer]> {
  const last = frameAt(log, BATCHES.length - 1);
  const first = frameAt(log, 0);
  return [
    ...[1, 2, 3, 4, 7, 8, 9, 511, 512, 513, 4_096, 8_192].map(
      (n) => [`${n} zeros`, Buffer.alloc(n)] as const,
    ),
    ...[1, 3, 4, 5, 64, 4_096].map((n) => [`${n} random bytes`, randomBytes(n, random)] as const),
    ...[0, 1, 2, 9, 200].map(
      (n) =>
        [`the magic number and ${n} random bytes`, Buffer.concat([MAGIC, randomBytes(n, random)])] as const,
    ),
    ["half the magic number", MAGIC.subarray(0, 2)],
    ["the magic number many times", Buffer.concat(Array<Buffer>(300).fill(MAGIC))],
    [
      "a frame that promises more than there is",
      Buffer.concat([MAGIC, Buffer.from([4, 0x38, 0, 0, 15]), last.subarray(1)]),
    ],
    ["a line", Buffer.from(`${TEXTS[0]}\n`)],
    ...[1, 4, 5, 20].map(
      (n) => [`the last frame once more, ${n} bytes short`, last.subarray(0, -n)] as const,
    ),
    ...[1, 4, 5].map((n) => [`the first frame once more, ${n} bytes short`, first.subarray(0, -n)] as const),
    ["a frame with its end zeroed", Buffer.concat([last.subarray(0, -12), Buffer.alloc(12)])],
  ];
}

/** Cut-off frames begin with what repair may not find; none of these is the beginning of a next batch. */
describe.each(KINDS)("behind the last frame, %s", (_, log) => {
  test(
    "anything that is no frame is a torn tail: set aside, and gone on without",
    async () => {
      using place = new Place();
      const cases = garbage(log).map(([what, tail], k) => ({
        what,
        tail,
        id: `s-${k}`,
        log: logNamed(log, `s-${k}`),
      }));
      for (const { id, tail, log: own } of cases) place.put(id, "zstd", Buffer.concat([own.bytes, tail]));
      {
        await using store = await place.open();
        for (const { what, id, tail, log: own } of cases) {
          expect({ what, ...(await readLog(store, id)) }).toEqual({ what, texts: TEXTS, torn: true });
          const { log: loaded, closers } = await store.load(id);
          expect([[...loaded.texts()], closers.length]).toEqual([TEXTS, 0]);
          expect(quarantineOf(place, id)).toEqual([[`.torn-${own.bytes.length}`, tail.toString("hex")]]);
          expect(readFileSync(place.log(id, "zstd")).equals(own.bytes)).toBe(true);
          await store.append(id, [titleAt(TEXTS.length)]);
        }
      }
      await using store = await place.read();
      const texts = [...TEXTS, JSON.stringify(titleAt(TEXTS.length))];
      for (const { id } of cases) expect(await readLog(store, id)).toEqual({ texts, torn: false });
    },
    TIMEOUT,
  );

  test(
    "between two frames the same is corruption, told by frame, byte and seq; nothing is touched",
    async () => {
      using place = new Place();
      await using store = await place.open();
      for (const [what, bytes] of garbage(log)) {
        for (const batch of [1, BATCHES.length - 1]) {
          const offset = log.offsets[batch] ?? 0;
          const whole = [log.bytes.subarray(0, offset), bytes, log.bytes.subarray(offset)];
          const path = place.put("s", "zstd", Buffer.concat(whole));
          const texts = BATCHES.slice(0, batch).flat();
          const expected = { place: { row: batch + 2, offset, seq: texts.length, sessionId: "s", path } };
          await expectRefused(place, store, "s", texts, { code: "corrupt", ...expected }, what);
        }
      }
    },
    TIMEOUT,
  );
});

/** The same log under another id. */
function logNamed(log: BuiltLog, id: string): BuiltLog {
  const [from = 0] = log.offsets;
  const header = buildLog(id, "zstd", []).bytes;
  const shift = header.length - from;
  return {
    ...log,
    bytes: Buffer.concat([header, log.bytes.subarray(from)]),
    offsets: log.offsets.map((offset) => offset + shift),
  };
}

/** What lies beside a log: by its ending, with its bytes. */
function quarantineOf(place: Place, id: string): Array<[string, string]> {
  const folder = dirname(place.log(id, "zstd"));
  return readdirSync(folder)
    .filter((name) => name !== LOG_NAMES.zstd)
    .map((name) => [name.slice(LOG_NAMES.zstd.length), readFileSync(join(folder, name)).toString("hex")]);
}

describe.each(KINDS)("with the end of a frame zeroed, %s", (_, log) => {
  test(
    "the last frame is a torn tail, however much of it is gone",
    async () => {
      const last = BATCHES.length - 1;
      const offset = log.offsets[last] ?? 0;
      const kept = BATCHES.slice(0, last).flat();
      const length = log.bytes.length - offset;
      using place = new Place();
      for (let zeros = 1; zeros <= length; zeros += 1) {
        const own = logNamed(log, `s-${zeros}`);
        place.put(`s-${zeros}`, "zstd", own.bytes.fill(0, own.bytes.length - zeros));
      }
      await using store = await place.open();
      for (let zeros = 1; zeros <= length; zeros += 1) {
        const id = `s-${zeros}`;
        const { texts, torn, fault } = await readLog(store, id);
        expect([zeros, torn, fault]).toEqual([zeros, true, undefined]);
        // Where only the structure's end is gone the lines may be there; where more is gone nobody can tell.
        expect(texts).toEqual(TEXTS.slice(0, texts.length));
        expect(texts.length).toBeGreaterThanOrEqual(kept.length);
        if (zeros >= 16) expect(texts).toEqual(kept);
        const loaded = await store.load(id);
        const after = [...loaded.log.texts()];
        expect(after.slice(0, texts.length)).toEqual([...texts]);
        expect(quarantineOf(place, id).map(([name]) => name)).toEqual([
          expect.stringMatching(/^\.torn-\d+$/),
        ]);
        await store.append(id, [titleAt(after.length)]);
        expect(await readLog(store, id)).toEqual({
          texts: [...after, JSON.stringify(titleAt(after.length))],
          torn: false,
        });
      }
    },
    TIMEOUT,
  );

  test(
    "any other frame is corrupt, and nothing of what follows is set aside",
    async () => {
      using place = new Place();
      await using store = await place.open();
      for (let batch = 0; batch < BATCHES.length - 1; batch += 1) {
        const offset = log.offsets[batch] ?? 0;
        const end = log.offsets[batch + 1] ?? 0;
        for (let zeros = 5; zeros <= end - offset; zeros += 3) {
          const bytes = Buffer.from(log.bytes).fill(0, end - zeros, end);
          const path = place.put("s", "zstd", bytes);
          const texts = BATCHES.slice(0, batch).flat();
          const at = { row: batch + 2, offset, seq: texts.length, sessionId: "s", path };
          await expectRefused(
            place,
            store,
            "s",
            texts,
            { code: "corrupt", place: at },
            `${batch}, ${zeros} zeros`,
          );
        }
      }
      writeFileSync(place.log("s", "zstd"), log.bytes);
      expect(await readLog(store, "s")).toEqual({ texts: TEXTS, torn: false });
    },
    TIMEOUT,
  );
});
