import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { Bundle } from "../../fixtures/bundle.ts";
import { buildLog, frameOf, headerText, titleText } from "./log-bytes.ts";
import { Place } from "./place.ts";
import { READER, readInChild } from "./reader-process.ts";
import { bytesOf, coveredBytes, piecesOf, repairRoot } from "./repaired.ts";

const MIB = 1024 * 1024;
const BLOCK = 128 * 1024;
const MAX_RSS = 300 * MIB;
const TIMEOUT = 30_000;
const WAYS = ["inspect", "stream", "list", "readFrom", "tail"] as const;

let program: Bundle;
beforeAll(async () => {
  program = await Bundle.of(READER);
});
afterAll(() => program[Symbol.asyncDispose]());

interface BombPlan {
  readonly gigabytes: number;
  /** Content size that the frame states; none where it is left out. */
  readonly stated?: bigint | "truly";
  /** Without a window descriptor, so that a decoder may want memory for all of the stated size at once. */
  readonly single?: boolean;
  /** A window descriptor. */
  readonly window?: number;
  /** How much of its end is missing. */
  readonly cut?: number;
}

/** A frame that unfolds to gigabytes: blocks of one byte that is repeated 131,072 times. */
function bomb({ gigabytes, stated, single = false, window = 0x38, cut = 0 }: BombPlan): Buffer {
  const descriptor = 0b100 | (stated === undefined ? 0 : 0b1100_0000) | (single ? 0b10_0000 : 0);
  const count = Math.ceil((gigabytes * 1024 * MIB) / BLOCK);
  const size = Buffer.alloc(stated === undefined ? 0 : 8);
  if (stated !== undefined) size.writeBigUInt64LE(stated === "truly" ? BigInt(count * BLOCK) : stated);
  const blocks = Buffer.alloc(4 * count);
  for (let k = 0; k < count; k += 1) {
    blocks.writeUIntLE((k === count - 1 ? 1 : 0) | (1 << 1) | (BLOCK << 3), 4 * k, 3);
    blocks[4 * k + 3] = 0x20;
  }
  const head = [0x28, 0xb5, 0x2f, 0xfd, descriptor, ...(single ? [] : [window])];
  return Buffer.concat([Buffer.from(head), size, blocks, Buffer.alloc(4)]).subarray(
    0,
    cut === 0 ? undefined : -cut,
  );
}

const WHOLE: ReadonlyArray<readonly [string, BombPlan]> = [
  ["size not stated", { gigabytes: 4 }],
  ["size stated", { gigabytes: 4, stated: "truly" }],
  ["size stated, one segment", { gigabytes: 4, stated: "truly", single: true }],
  ["size stated, one segment that a decoder would take", { gigabytes: 0.12, stated: "truly", single: true }],
  [
    "size stated, one segment just beyond what a decoder takes",
    { gigabytes: 0.25, stated: "truly", single: true },
  ],
  ["size not stated, a window of gigabytes", { gigabytes: 4, window: 0xaf }],
];

/** They are no damage: somebody made them like this, and they are neither set aside nor read. */
const REFUSED = {
  inspect: "unsupported-format",
  stream: "unsupported-format",
  list: 1,
  readFrom: "unsupported-format",
  tail: "unsupported-format",
};

/** A log of one event, this, and more. */
function logWith(tail: Buffer, more: Buffer): Buffer {
  return Buffer.concat([buildLog("s", "zstd", [[titleText(0)]]).bytes, tail, more]);
}

const NOTHING = Buffer.alloc(0);
const GOOD = frameOf(`${titleText(1)}\n`);

describe("a frame that unfolds to more than memory holds", () => {
  test.each(WHOLE)(
    "is refused by its kind, in bounded memory: %s",
    async (_, plan) => {
      for (const more of [NOTHING, GOOD]) {
        using place = new Place();
        place.put("s", "zstd", logWith(bomb(plan), more));
        const { outcomes, maxRss } = await readInChild(place, WAYS, program.path);
        expect(outcomes).toEqual(REFUSED);
        expect(maxRss).toBeLessThan(MAX_RSS);
      }
    },
    TIMEOUT,
  );

  test.each([
    ["less than it unfolds to", { gigabytes: 4, stated: 100n }],
    ["less than it unfolds to, one segment", { gigabytes: 4, stated: 100n, single: true }],
    ["more than its blocks can hold", { gigabytes: 0.001, stated: 4n << 30n }],
    ["more than its blocks can hold, one segment", { gigabytes: 0.001, stated: 4n << 30n, single: true }],
    ["more than any file holds", { gigabytes: 0.001, stated: (1n << 64n) - 1n }],
  ] as const)(
    "or states %s is damaged: torn at the end, else corrupt, in bounded memory",
    async (_, plan) => {
      for (const [more, expected] of [[NOTHING, 1] as const, [GOOD, "corrupt"] as const]) {
        using place = new Place();
        place.put("s", "zstd", logWith(bomb(plan), more));
        const { outcomes, maxRss } = await readInChild(
          place,
          ["inspect", "stream", "list", "readFrom"],
          program.path,
        );
        expect(outcomes).toEqual({ inspect: expected, stream: expected, list: 1, readFrom: expected });
        expect(maxRss).toBeLessThan(MAX_RSS);
      }
    },
    TIMEOUT,
  );

  test.each([
    ["small window", { gigabytes: 4, cut: 1 }],
    ["size stated", { gigabytes: 4, stated: 4n << 30n, cut: 1 }],
    ["a window of a gigabyte", { gigabytes: 0.01, window: 0xa0, cut: 1 }],
    ["one segment of a gigabyte", { gigabytes: 0.01, stated: 1n << 30n, single: true, cut: 1 }],
    [
      "one segment of nearly all that can be",
      { gigabytes: 0.01, stated: 2_145_386_496n, single: true, cut: 1 },
    ],
  ] as const)(
    "and that the end of the file cuts off is read in bounded memory: %s",
    async (_, plan) => {
      using place = new Place();
      place.put("s", "zstd", logWith(bomb(plan), NOTHING));
      const { outcomes, maxRss } = await readInChild(place, WAYS, program.path);
      // Whether it is a torn tail or too much to look into: nobody reads it.
      for (const way of ["inspect", "stream", "readFrom"]) {
        expect([1, "unsupported-format"]).toContain(outcomes[way] ?? "");
      }
      expect(outcomes["list"]).toBe(1);
      expect(maxRss).toBeLessThan(MAX_RSS);
    },
    TIMEOUT,
  );

  test("as a header is listed with the reason; many of them take no more memory than one", async () => {
    using place = new Place();
    // Small enough that a listing looks at it whole.
    const small = bomb({ gigabytes: 0.12 });
    for (let k = 0; k < 20; k += 1) {
      place.put(`header-${k}`, "zstd", small);
      place.put(`record-${k}`, "zstd", Buffer.concat([buildLog(`record-${k}`, "zstd", []).bytes, small]));
    }
    place.put("s", "zstd", buildLog("s", "zstd", [[titleText(0)]]).bytes);
    const { outcomes, maxRss } = await readInChild(place, ["list", "inspect"], program.path);
    expect(outcomes).toEqual({ list: 41, inspect: 1 });
    expect(maxRss).toBeLessThan(MAX_RSS);
  });
});

test(
  "many frames that may just be read take no more memory than some of them",
  async () => {
    using place = new Place();
    const bombs = Array<Buffer>(8).fill(frameOf(Buffer.alloc(60 * MIB)));
    place.put("s", "zstd", logWith(Buffer.concat(bombs), GOOD));
    const { outcomes, maxRss } = await readInChild(place, ["verify"], program.path);
    expect(outcomes).toEqual({ verify: bombs.length });
    expect(maxRss).toBeLessThan(MAX_RSS);
  },
  TIMEOUT,
);

test("a repair sets frames that unfold to much of nothing aside as they are stored", async () => {
  using place = new Place();
  const bomb = frameOf(Buffer.alloc(2 * MIB));
  const path = place.put("s", "zstd", logWith(Buffer.concat([bomb, bomb]), GOOD));
  const { steps } = await repairRoot(place.root);
  expect(steps).toMatchObject([{ keptEvents: 1, cut: { events: 1 }, reason: { code: "malformed" } }]);
  expect(statSync(`${path}.quarantine-1`).size).toBeLessThan(2_000);
  const pieces = piecesOf(`${path}.quarantine-1`);
  expect(coveredBytes(pieces, bytesOf(`${path}.backup-1`), true)).toBe(steps[0]?.cut.bytes ?? 0);
});

/** Writes a line of `megabytes` in pieces, after `before`. */
function longLine(place: Place, before: string, megabytes: number, after: string): void {
  const path = place.put("s", "none", Buffer.from(before));
  const file = openSync(path, "a");
  for (let k = 0; k < megabytes; k += 1) writeSync(file, Buffer.alloc(MIB, "x"));
  writeSync(file, after);
  closeSync(file);
}

describe("a line of a hundred megabytes", () => {
  const header = `${headerText("s")}\n`;
  const opening = titleText(1, "").slice(0, -2);

  test.each([
    ["of a record", `${header}${titleText(0)}\n${opening}`, '"}\n', "unsupported-format"],
    [
      "of a record that others follow",
      `${header}${titleText(0)}\n${opening}`,
      `"}\n${titleText(2)}\n`,
      "unsupported-format",
    ],
    ["without its end", `${header}${titleText(0)}\n${opening}`, "", "unsupported-format"],
    ["of a header", headerText("s").slice(0, -1), "}\n", "unsupported-format"],
    ["of nothing", `${header}${titleText(0)}\n`, "\n", "unsupported-format"],
  ])(
    "is refused by its kind, in bounded memory: %s",
    async (_, before, after, code) => {
      using place = new Place();
      longLine(place, before, 100, after);
      const { outcomes, maxRss } = await readInChild(place, WAYS, program.path);
      expect(outcomes).toEqual({ inspect: code, stream: code, list: 1, readFrom: code, tail: code });
      expect(maxRss).toBeLessThan(MAX_RSS);
    },
    TIMEOUT,
  );
});
