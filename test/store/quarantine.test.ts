import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { CorruptError, UnsupportedFormatError } from "../../src/store/errors.ts";
import { type QuarantineHead, QuarantineWriter, type SqlValue } from "../../src/store/quarantine.ts";
import { isQuarantine, type QuarantineItem, QuarantineReader } from "../../src/store/quarantine-reader.ts";
import { oddString } from "../fixtures/arbitraries.ts";
import { TempFolder } from "../fixtures/temp-folder.ts";

const HEAD: QuarantineHead = {
  session: "s \ud800",
  source: "session.jsonl",
  reason: { code: "damaged", message: "A line is not UTF-8", expected: "valid UTF-8", found: "other bytes" },
  cutAt: { offset: 7, row: 3, seq: 4 },
};

const natural = fc.maxSafeNat();
const stretch = { offset: natural, length: fc.nat(10_000) };
const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some));
const value: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  oddString(3),
  fc.double({ noNaN: true }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  bytes,
);
const piece: fc.Arbitrary<Exclude<QuarantineItem, { kind: "damage" }>> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), ...stretch, text: oddString() }),
  fc.record({
    kind: fc.constant("text" as const),
    ...stretch,
    row: natural,
    seq: natural,
    text: oddString(),
  }),
  bytes
    .filter(({ length }) => length > 0)
    .map((some) => ({ kind: "bytes" as const, offset: 9, length: some.length, bytes: some })),
  fc.record({
    kind: fc.constant("bytes" as const),
    ...stretch,
    row: natural,
    bytes: bytes.filter(({ length }) => length > 0),
  }),
  fc
    .record({ rowid: natural, body: value, sources: value, checksum: value })
    .map((values) => ({ kind: "row" as const, values })),
);

function write(writer: QuarantineWriter, item: QuarantineItem): void {
  if (item.kind === "text") writer.text(item);
  else if (item.kind === "bytes" && item.row !== undefined) writer.unfolded(item, item.bytes);
  else if (item.kind === "bytes") writer.bytes(item.offset, item.bytes);
  else if (item.kind === "row") {
    const { rowid, ...values } = item.values;
    writer.row(typeof rowid === "number" ? rowid : 0, values);
  }
}

function read(path: string): { readonly head: QuarantineHead; readonly items: readonly QuarantineItem[] } {
  using reader = new QuarantineReader(path);
  return { head: reader.head, items: [...reader.items()] };
}

describe("a quarantine file", () => {
  test("gives back all that was put into it, and can be read by its user alone", async () => {
    await using folder = await TempFolder.create();
    let n = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (items) => {
        const path = join(folder.path, `q-${n++}`);
        using writer = new QuarantineWriter(path, HEAD);
        for (const item of items) write(writer, item);
        expect(writer.finish().pieces).toBe(items.length);
        expect(statSync(path).mode & 0o777).toBe(0o600);
        expect(isQuarantine(path)).toBe(true);
        expect(read(path)).toEqual({ head: HEAD, items });
      }),
      { numRuns: 60 },
    );
  });

  test("takes long bytes in pieces, and a text of megabytes in one", async () => {
    await using folder = await TempFolder.create();
    const path = join(folder.path, "q");
    const long = Buffer.alloc(200_000, "\u0001ab");
    const text = "\u0001é".repeat(2_000_000);
    const { session: _, ...head } = HEAD;
    using writer = new QuarantineWriter(path, head);
    writer.bytes(10, long);
    writer.text({ offset: 200_010, length: 6_000_001, text });
    const count = writer.finish();
    const { head: found, items } = read(path);
    expect(found).toEqual(head);
    const parts = items.flatMap((item) => (item.kind === "bytes" ? [item] : []));
    expect(parts.length).toBe(5);
    expect(Buffer.concat(parts.map((part) => part.bytes)).equals(long)).toBe(true);
    expect(parts.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4].map((k) => 10 + 49_152 * k));
    expect(items.at(-1)).toEqual({ kind: "text", offset: 200_010, length: 6_000_001, text });
    expect(count).toEqual({ pieces: 6, records: 0, bytes: 6_200_001 });
  });

  test("that was never finished, or has a bad line, is read past that", async () => {
    await using folder = await TempFolder.create();
    const path = join(folder.path, "q");
    {
      using writer = new QuarantineWriter(path, HEAD);
      writer.text({ offset: 1, length: 3, text: "ab" });
      writer.text({ offset: 4, length: 3, text: "cd" });
      writer.finish();
    }
    const whole = readFileSync(path);
    const text = (offset: number, word: string) => ({ kind: "text" as const, offset, length: 3, text: word });
    truncateSync(path, whole.length - 10);
    expect(read(path).items).toEqual([
      text(1, "ab"),
      text(4, "cd"),
      { kind: "damage", finding: expect.objectContaining({ code: "damaged" }) },
      { kind: "damage", finding: expect.objectContaining({ code: "torn-tail" }) },
    ]);
    writeFileSync(path, whole.toString().replace('"text":"ab"', '"text":7'));
    expect(read(path).items.map(({ kind }) => kind)).toEqual(["damage", "text"]);
  });

  test("of another version, and another file, are refused by what they are", async () => {
    await using folder = await TempFolder.create();
    const path = join(folder.path, "q");
    writeFileSync(path, '{"type":"holdfast-quarantine","version":2}\n');
    expect(() => read(path)).toThrow(UnsupportedFormatError);
    for (const other of ["", "x", '{"type":"session"}\n', '{"type":"holdfast-quarantine","version":1}\n']) {
      writeFileSync(path, other);
      expect(() => read(path)).toThrow(CorruptError);
    }
    expect(isQuarantine(path)).toBe(true);
    appendFileSync(path, "x");
    writeFileSync(path, "{}");
    expect(isQuarantine(path)).toBe(false);
  });
});
