import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { buildLog, randomBytes, seeded, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";
import { readInChild } from "./reader-process.ts";

/* What may hold up the whole process. Each is read in a process of its own, which is ended when it hangs. */

const TIMEOUT = 30_000;
const MIB = 1024 * 1024;
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

function log(encoding: (typeof ENCODINGS)[number]): Buffer {
  return buildLog("s", encoding, [[titleText(0)]]).bytes;
}

function makePipe(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const made = Bun.spawnSync(["mkfifo", path]);
  if (!made.success) throw new Error(`mkfifo: ${made.stderr.toString()}`);
}

describe.each(ENCODINGS)("reading ends, encoding %s", (encoding) => {
  test(
    "with an error where the log becomes shorter while it is read",
    async () => {
      using place = new Place();
      const random = seeded(1);
      // Several pages of records, and more bytes than are read at once.
      const noise = () => randomBytes(500, random).toString("base64");
      const batches = Array.from({ length: 4_000 }, (_, k) => [titleText(k, noise())]);
      place.put("s", encoding, buildLog("s", encoding, batches).bytes);
      const { outcomes } = await readInChild(place, ["shrunk"]);
      expect(outcomes).toEqual({ shrunk: expect.stringMatching(/^(storage-failed|corrupt)$/) });
    },
    TIMEOUT,
  );

  test.skipIf(process.platform === "win32")(
    "with an error where the log is a pipe that nobody writes to, and the others are listed",
    async () => {
      using place = new Place();
      makePipe(place.log("s", encoding));
      place.put("t", encoding, buildLog("t", encoding, [[titleText(0)]]).bytes);
      const { outcomes } = await readInChild(place, ["list", "inspect", "stream", "readFrom"]);
      const failed = "storage-failed";
      expect(outcomes).toEqual({ list: 2, inspect: failed, stream: failed, readFrom: failed });
    },
    TIMEOUT,
  );

  test.skipIf(process.platform === "win32")(
    "where the index is such a pipe",
    async () => {
      using place = new Place();
      const path = place.put("s", encoding, log(encoding));
      makePipe(`${path}.holdfast-index`);
      const { outcomes } = await readInChild(place, ["readFrom", "inspect"]);
      expect(outcomes).toEqual({ readFrom: 1, inspect: 1 });
    },
    TIMEOUT,
  );
});

describe("a tail is judged by reading it once, not once for each thing in it that looks like a frame", () => {
  /** Blocks of nothing: a frame that could go on for ever. */
  const endless = Buffer.concat([MAGIC, Buffer.from([0b100, 0x38])]);

  test.each([
    ["magic numbers", MAGIC],
    ["frames without an end", endless],
    ["frames with a block of nothing", Buffer.concat([endless, Buffer.alloc(3)])],
    [
      "frames of nothing with a bad checksum",
      Buffer.concat([endless, Buffer.from([1, 0, 0]), Buffer.alloc(4, 1)]),
    ],
    [
      "frames that state gigabytes",
      Buffer.concat([
        MAGIC,
        Buffer.from([0b1110_0100]),
        Buffer.alloc(8, 7),
        Buffer.from([1, 0, 0]),
        Buffer.alloc(4),
      ]),
    ],
  ])(
    "a megabyte of %s",
    async (_, piece) => {
      using place = new Place();
      const tail = Buffer.alloc(MIB, piece);
      // Some bytes before, so that the first of them is damaged.
      place.put("s", "zstd", Buffer.concat([log("zstd"), Buffer.from("???"), tail]));
      const { outcomes } = await readInChild(place, ["inspect"]);
      expect(outcomes).toEqual({ inspect: 1 });
    },
    TIMEOUT,
  );
});
