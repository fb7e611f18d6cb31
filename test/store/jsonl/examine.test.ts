import { describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { StoreNotFoundError } from "../../../src/store/errors.ts";
import { examineJsonl } from "../../../src/store/jsonl/examine.ts";
import { rejectionOf } from "../../contract/support.ts";
import { unitOffsets } from "../../fixtures/log-files.ts";
import { BATCHES, kindsOf, TEXTS } from "./damage-kinds.ts";
import { codesOf, type Examination, examineRoot } from "./examining.ts";
import { buildLog, encodeBatch, frameOf, frameOfBlocks, headerText, titleText } from "./log-bytes.ts";
import { ENCODINGS, Place } from "./place.ts";

const clock = () => Date.now();

async function examineLog(place: Place): Promise<Examination> {
  const [only, ...others] = await examineRoot(place.root);
  if (only === undefined || others.length > 0) throw new Error(`not one session: ${others.length}`);
  return only;
}

describe.each(ENCODINGS)("an examiner, encoding %s", (encoding) => {
  test("gives out every record of a sound log with its place, and changes nothing", async () => {
    using place = new Place();
    // Small frames come many at once.
    const batches = Array.from({ length: 300 }, (_, k) =>
      Array.from({ length: 1 + (k % 3) }, (_, n) => titleText(1_000 * k + n)),
    );
    const { bytes } = buildLog("s", encoding, batches);
    const path = place.put("s", encoding, bytes);
    const before = place.contents();
    const { id, location, header, texts, places, findings } = await examineLog(place);
    expect([id, location, header, findings]).toEqual(["s", path, expect.objectContaining({ id: "s" }), []]);
    expect(texts).toEqual(batches.flat());
    const units = unitOffsets(bytes, encoding).slice(1, -1);
    const rows =
      encoding === "zstd" ? batches.flatMap((batch, k) => batch.map(() => k)) : texts.map((_, k) => k);
    const seqs = batches.flatMap((batch, k) => batch.map((_, n) => 1_000 * k + n));
    expect(places).toEqual(
      rows.map((unit, k) => ({
        path,
        sessionId: "s",
        offset: units[unit] ?? -1,
        // The header is frame, and line, 1.
        row: unit + 2,
        seq: seqs[k] ?? -1,
      })),
    );
    expect(place.contents()).toEqual(before);
  });

  test.each(kindsOf(encoding))("goes on behind $name", async (kind) => {
    using place = new Place();
    const parts = kind.parts(encoding);
    const bytes = Buffer.concat(parts);
    place.put("s", encoding, bytes);
    const { texts, findings } = await examineLog(place);
    const stored = parts.length === 0 ? [] : texts.filter((text) => TEXTS.includes(text));
    expect(stored.length).toBeGreaterThanOrEqual(kind.keptEvents);
    // Which seqs are there is not for an examiner to judge.
    const own = kind.codes.filter(
      (code) => !["events-missing", "events-repeated", "reference"].includes(code),
    );
    expect(codesOf({ findings })).toEqual(own);
    const [first] = findings;
    if (first === undefined) return;
    const from = Buffer.concat(parts.slice(0, kind.at)).length;
    expect(first.place.sessionId).toBe("s");
    expect(first.place.offset).toBeWithin(from, from + (parts[kind.at]?.length ?? 0) + 1);
    expect(encoding === "none" || first.place.row !== undefined).toBe(true);
  });

  test("shows 6,999 of 7,000 records where one is damaged, and names the byte and the frame or line", async () => {
    using place = new Place();
    const batches = Array.from({ length: 7_000 }, (_, k) => [titleText(k)]);
    const { bytes, offsets } = buildLog("s", encoding, batches);
    const offset = offsets[499] ?? 0;
    bytes[offset + 20] = 0xff;
    const path = place.put("s", encoding, bytes);
    const { texts, findings, order } = await examineLog(place);
    expect(texts).toEqual(batches.flat().filter((_, k) => k !== 499));
    expect(findings).toMatchObject([{ code: "damaged", place: { path, offset, row: 501 } }]);
    expect(order.indexOf("damaged")).toBe(499);
  });

  test("waits for an end that is being written, and reports it when it stays", async () => {
    using place = new Place();
    const { bytes, offsets } = buildLog("s", encoding, BATCHES);
    const half = (offsets[3] ?? 0) + 10;
    const path = place.put("s", encoding, bytes.subarray(0, half));
    const waits: number[] = [];
    const grow = async (ms: number) => {
      waits.push(ms);
      if (waits.length === 1) appendFileSync(path, bytes.subarray(half));
    };
    const [grown] = await examineRoot(place.root, undefined, { now: clock, wait: grow });
    expect([grown?.texts, grown?.findings]).toEqual([TEXTS, []]);
    place.put("s", encoding, bytes.subarray(0, half));
    const [stayed] = await examineRoot(place.root, undefined, {
      now: clock,
      wait: async (ms) => void waits.push(ms),
    });
    expect([stayed?.texts.length, codesOf(stayed ?? { findings: [] })]).toEqual([7, ["torn-tail"]]);
    // Nobody writes to it any more.
    const later = () => Date.now() + 60_000;
    const [old] = await examineRoot(place.root, undefined, { now: later, wait: () => expect.unreachable() });
    expect(codesOf(old ?? { findings: [] })).toEqual(["torn-tail"]);
    const always = async (ms: number) => {
      waits.push(ms);
      appendFileSync(path, "x");
    };
    const [busy] = await examineRoot(place.root, undefined, { now: clock, wait: always });
    expect(busy?.findings).toEqual([]);
    expect(waits.slice(2).reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(200);
  });

  test("looks only at the sessions that are asked for", async () => {
    using place = new Place();
    for (const id of ["a", "b", "c"]) place.put(id, encoding, buildLog(id, encoding, BATCHES).bytes);
    expect((await examineRoot(place.root, ["c", "a", "nobody"])).map(({ id }) => id)).toEqual(["a", "c"]);
  });
});

test("tells millions of lines that are none as a few findings", async () => {
  using place = new Place();
  const lines = [headerText("s"), titleText(0), "\n".repeat(3_000_000), ..."x".repeat(100_000), titleText(1)];
  place.put("s", "none", Buffer.from(`${lines.join("\n")}\n`));
  const { texts, findings, places } = await examineLog(place);
  expect(texts).toEqual([titleText(0), titleText(1)]);
  expect(findings.length).toBeLessThan(200);
  expect(findings.at(-1)?.message).toMatch(/99\d\d\d more in a row/);
  expect(places[1]?.row).toBe(3_100_004);
});

test("finds the sound frame behind a megabyte of things that look like frames, in no time", async () => {
  using place = new Place();
  // Each unfolds, and none has the checksum that it should.
  const fake = Buffer.from(frameOfBlocks([{ type: 0, content: Buffer.from("x\n") }]));
  fake.writeUInt32LE(1, fake.length - 4);
  const fakes = Buffer.concat(Array<Buffer>(60_000).fill(fake));
  const parts = [
    encodeBatch([headerText("s")], "zstd"),
    frameOf(`${titleText(0)}\n`),
    fakes,
    frameOf(`${titleText(1)}\n`),
  ];
  place.put("s", "zstd", Buffer.concat(parts));
  const started = performance.now();
  const { texts, findings } = await examineLog(place);
  expect(texts).toEqual([titleText(0), titleText(1)]);
  expect(findings.length).toBe(60_000);
  expect(performance.now() - started).toBeLessThan(5_000);
});

describe("what is odd about a root is a finding, and keeps no other session from being read:", () => {
  const log = (id: string, more: object = {}) =>
    Buffer.concat([encodeBatch([headerText(id, more)], "zstd"), encodeBatch([titleText(0)], "zstd")]);
  const put = (place: Place, path: string, bytes: Uint8Array | string) =>
    place.file(join(place.root, path), bytes);

  const cases: ReadonlyArray<
    readonly [string, (place: Place) => void, ReadonlyArray<readonly [string, string]>]
  > = [
    [
      "another id in the header",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", log("else")),
      [["odd", "header-misplaced"]],
    ],
    [
      "a name that encodes no id",
      (place) => put(place, "--p--/o~d/session.jsonl.zstd", log("odd")),
      [["odd", "header-misplaced"]],
    ],
    [
      "another project's folder",
      (place) => put(place, "--q--/odd/session.jsonl.zstd", log("odd")),
      [["odd", "other-folder"]],
    ],
    [
      "another version",
      (place) => put(place, "--p--/odd/session.jsonl.zstd", log("odd", { version: 4 })),
      [["odd", "unsupported-version"]],
    ],
    [
      "a log of a later format",
      (place) => put(place, "--p--/odd/session.v3.jsonl.zstd", "?"),
      [["odd", "unsupported-version"]],
    ],
    [
      "two logs of one id in a folder",
      (place) => {
        put(place, "--p--/odd/session.jsonl.zstd", log("odd"));
        put(place, "--p--/odd/session.jsonl", `${headerText("odd")}\n`);
      },
      [
        ["odd", "duplicate"],
        ["odd", "duplicate"],
      ],
    ],
    [
      "two logs of one id in two projects",
      (place) => {
        put(place, "--p--/odd/session.jsonl.zstd", log("odd"));
        put(place, "--q--/odd.jsonl.zstd", log("odd", { cwd: "/q" }));
      },
      [
        ["odd", "duplicate"],
        ["odd", "duplicate"],
      ],
    ],
    [
      "a folder in place of a log",
      (place) => mkdirSync(join(place.root, "--p--/odd/session.jsonl.zstd"), { recursive: true }),
      [["odd", "unreadable"]],
    ],
    [
      "a link that leads nowhere",
      (place) => {
        mkdirSync(join(place.root, "--p--/odd"), { recursive: true });
        symlinkSync("nowhere", join(place.root, "--p--/odd/session.jsonl"));
      },
      [["odd", "unreadable"]],
    ],
    ["a file that is no log", (place) => put(place, "--p--/odd/notes.txt", "x"), []],
  ];

  test.each(cases)("%s", async (_, make, found) => {
    using place = new Place();
    place.put("good", "zstd", log("good"));
    make(place);
    const all = await examineRoot(place.root);
    const good = all.find(({ id }) => id === "good");
    expect([good?.texts, good?.findings]).toEqual([[titleText(0)], []]);
    const odd = all.filter(({ id }) => id !== "good");
    expect(odd.flatMap(({ id, findings }) => findings.map(({ code }) => [id, code]))).toEqual(
      found.map((pair) => [...pair]),
    );
  });

  test("a log that is deleted or replaced by a folder while it is examined", async () => {
    using place = new Place();
    const path = place.put("s", "zstd", log("s"));
    await using examiner = await examineJsonl(place.root);
    for await (const session of examiner.sessions()) {
      renameSync(path, join(dirname(path), "gone"));
      const items = await Array.fromAsync(session.items());
      expect(items).toMatchObject([{ kind: "damage", finding: { code: "unreadable", place: { path } } }]);
    }
  });

  test("a root that is not there is refused, and not made", async () => {
    using place = new Place();
    expect(await rejectionOf(examineJsonl(join(place.root, "none")))).toBeInstanceOf(StoreNotFoundError);
    expect(place.contents()).toEqual({});
  });
});
